"""What the GitHub Action of `action.yml` runs: `berth policy diff` of a pull request, as a comment on it."""
