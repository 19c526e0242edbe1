"""One comment on a pull request, which later runs change. Through GitHub's API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import urllib3

LONGEST = 65_000
"""Characters. GitHub takes 65,536."""
_PAGE = 100
_MOST_PAGES = 30
_TIMEOUT = urllib3.Timeout(connect=10, read=30)
_CUT = "\n\nThe comment is too long; the summary of the run has the rest.\n"


class CommentRefused(Exception):
    """GitHub did not take the comment. The message names the cause."""


@dataclass(frozen=True, slots=True)
class GitHub:
    """`api`: the address of the API. `repository`: owner and name."""

    api: str
    repository: str
    token: str

    def upsert_comment(self, pull_request: int, marker: str, text: str) -> None:
        """Change the comment that begins with the marker, or create it. Raises CommentRefused."""
        body = truncated(f"{marker}\n{text}")
        found = self._find(pull_request, marker)
        if found is not None:
            status, _ = self._call("PATCH", f"issues/comments/{found}", {"body": body})
            if status == 200:
                return
            # Somebody else's comment can begin with the marker, and cannot be changed.
        status, answer = self._call("POST", f"issues/{pull_request}/comments", {"body": body})
        if status != 201:
            raise CommentRefused(_cause(status, answer))

    def _find(self, pull_request: int, marker: str) -> int | None:
        for page in range(1, _MOST_PAGES + 1):
            path = f"issues/{pull_request}/comments?per_page={_PAGE}&page={page}"
            status, comments = self._call("GET", path)
            if status != 200 or not isinstance(comments, list):
                raise CommentRefused(_cause(status, comments))
            for comment in comments:
                match comment:
                    case {"id": int(number), "body": str(body)} if body.startswith(marker):
                        return number
            if len(comments) < _PAGE:
                break
        return None

    def _call(self, method: str, path: str, content: Mapping[str, str] | None = None) -> tuple[int, Any]:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "User-Agent": "berth",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        body = None if content is None else orjson.dumps(content)
        try:
            # A redirect would take the token elsewhere, and a repeated POST would comment twice.
            with urllib3.PoolManager(retries=False, timeout=_TIMEOUT) as pool:
                answer = pool.request(
                    method, f"{self.api}/repos/{self.repository}/{path}", body=body, headers=headers, redirect=False
                )
                data = answer.data
        except urllib3.exceptions.HTTPError as error:
            raise CommentRefused(f"{self.api} does not answer: {type(error).__name__}") from error
        try:
            return answer.status, orjson.loads(data or b"null")
        except orjson.JSONDecodeError:
            return answer.status, None


def truncated(body: str) -> str:
    """The body, or as much of it as a comment can have."""
    return body if len(body) <= LONGEST else body[: LONGEST - len(_CUT)].rpartition("\n")[0] + _CUT


def _cause(status: int, answer: object) -> str:
    message = answer.get("message") if isinstance(answer, dict) else None
    hint = "; the job needs `permissions: {pull-requests: write}`, which a fork's job never has"
    return f"status {status}" + (f": {message}" if message else "") + (hint if status in (403, 404) else "")
