"""Which profile decides for a pod: the one for its schedulerName, and for an exempt pod what is left of it."""

from __future__ import annotations

from collections.abc import Mapping

from berth.scheduling.exemption import Exemption
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import Pod


class ProfileChoice:
    """Of one policy."""

    def __init__(
        self,
        default: Profile,
        by_scheduler: Mapping[str, Profile],
        exemption: Exemption,
        for_planning: Mapping[str, Profile],
    ) -> None:
        """default: for pods of schedulers that have no profile of their own. for_planning: by the name of a profile,
        the profile with the filters of kube-scheduler that it lacks."""
        self._default, self._by_scheduler, self._for_planning = default, by_scheduler, for_planning
        self.is_exempt, self.was_exempt = exemption.covers, exemption.covered
        self.all = (default, *by_scheduler.values())
        """Every profile that decides for some pod."""
        self._for_exempt_pods = {each.name: each.for_exempt_pods() for each in self.all}

    def named_by(self, pod: Pod) -> Profile:
        """The profile for the pod's schedulerName, exempt or not."""
        return self._by_scheduler.get(pod.spec.scheduler_name, self._default)

    def of(self, pod: Pod) -> Profile:
        """The same; for an exempt pod with only the plugins that apply to such pods."""
        profile = self.named_by(pod)
        return self._for_exempt_pods[profile.name] if self.is_exempt(pod) else profile

    def deciding(self, pod: Pod) -> Profile | None:
        """The profile that filters this pod; None for a pod that passes every node."""
        profile = self.named_by(pod)
        if not self.is_exempt(pod):
            return profile
        remaining = self._for_exempt_pods[profile.name]
        return None if remaining.skips(pod) else remaining

    def for_planning(self, pod: Pod) -> Profile:
        """The profile by which members of gangs get their places."""
        profile = self.named_by(pod)
        return self._for_planning.get(profile.name, profile)
