"""Hooks of `make docs`: links to files of the repository outside docs/, and diagrams without external scripts.

A page may link to any file of the repository by its relative path, as on a code host. The site contains a copy of each
linked file under repository/. A link to a folder opens the folder's README.md, which becomes a page.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parents[2]
COPIES = "repository"
MERMAID = PROJECT / ".tools/docs/mermaid.min.js"
SCRIPT = "javascripts/mermaid.min.js"
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)((?:#[^)\s]*)?)(?=\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Load the local copy of Mermaid, so that the theme does not load it from a content delivery network."""
    if MERMAID.is_file():
        config.extra_javascript.append(SCRIPT)
    else:
        get_plugin_logger("berth").info("no %s: diagrams are shown as text", MERMAID.relative_to(PROJECT))
        config.mdx_configs["pymdownx.superfences"] = {}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the diagrams' script, and each file of the repository that a page links to."""
    if MERMAID.is_file():
        files.append(File.generated(config, SCRIPT, abs_src_path=str(MERMAID)))
    waiting = [file.src_uri for file in files.documentation_pages()]
    while waiting:
        page = waiting.pop()
        text = (PROJECT / _in_repository(page)).read_text(encoding="utf-8")
        for uri in sorted({_target(page, link[1]) for link in LINK.finditer(text)}):
            if uri.startswith(f"{COPIES}/") and files.get_file_from_path(uri) is None:
                source = str(PROJECT / _in_repository(uri))
                files.append(File.generated(config, uri, abs_src_path=source, inclusion=InclusionLevel.NOT_IN_NAV))
                waiting += [uri] if uri.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to files outside docs/ to their copies."""
    here = page.file.src_uri

    def rewritten(link: re.Match[str]) -> str:
        target = _target(here, link[1])
        return (posixpath.relpath(target, posixpath.dirname(here) or ".") if target else link[1]) + link[2]

    return LINK.sub(rewritten, markdown)


def _in_repository(uri: str) -> str:
    """Return the repository path of a page of the site."""
    return uri.removeprefix(f"{COPIES}/") if uri.startswith(f"{COPIES}/") else f"docs/{uri}"


def _target(uri: str, link: str) -> str:
    """Return the site's file for the link of a page; empty if it does not exist, so that a strict build fails."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(_in_repository(uri)), link))
    if (PROJECT / path).is_dir():
        path = f"{path}/README.md"
    if path.startswith("..") or not (PROJECT / path).is_file():
        return ""
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{COPIES}/{path}"
