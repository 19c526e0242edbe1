#!/usr/bin/env bash
# Install Chromium with apt-get where that is possible, and say why where it is not.
# Ends with 0 in any case: the tests say what they miss.
set -euo pipefail

not_installed() {
  echo "chromium: not installed: $1"
  exit 0
}

for command in chromium chromium-browser google-chrome; do
  if found=$(command -v "$command"); then
    echo "chromium: $found"
    exit 0
  fi
done

command -v apt-get >/dev/null || not_installed "there is no apt-get; install it by hand, or name one: BROWSER=command"
as_root=()
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2>/dev/null || not_installed "it takes root; run: sudo apt-get install chromium"
  as_root=(sudo -n)
fi

update() { "${as_root[@]}" apt-get update --quiet=2; }
has_package() { apt-cache policy chromium 2>/dev/null | grep -q 'Candidate: [^(]'; }
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends chromium
}

has_package || update || not_installed "apt-get update failed; is there a network?"
has_package || not_installed "no package source of apt-get has chromium; install a browser by hand: BROWSER=command"
# An old index names packages that are no longer there.
install || { update && install; } || not_installed "apt-get install chromium failed, see above"
echo "chromium: $(command -v chromium), installed now"
