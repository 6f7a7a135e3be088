"""Pages of a comparison or a history: one self-contained HTML file with its own style and script, in two languages.

Texts of results are hostile: the templates escape all of them, and a content security policy lets no script run but the
page's own.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

import jinja2
from markupsafe import Markup

from acl_cts.reports.html_report import TEMPLATES, UNSHOWABLE, both


def page(
    template: str, words: Mapping[str, tuple[str, str]], styles: tuple[str, ...], scripts: tuple[str, ...], **view: Any
) -> str:
    """The page that `template` makes of `view`, with the files `styles` and `scripts`. `t` gives a word in both
    languages, of which the page shows one."""
    style = "\n".join(map(_read, styles))
    code = "\n".join(map(_read, scripts))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(t=lambda name: both(*words[name]), both=both, words=words)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(code)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    # Both are our own and hold nothing of the results.
    text = environment.get_template(template).render(style=Markup(style), script=Markup(code), policy=policy, **view)
    return UNSHOWABLE.sub("\ufffd", text)


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
