"""Wording of the page of a history: every interface word in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from acl_cts.reports.wording import WORDS

TREND_WORDS: Mapping[str, tuple[str, str]] = {
    **{name: WORDS[name] for name in ("skip", "contents", "language", "theme", "limit", "clause", "started", "tables")},
    "title": ("History", "历史趋势"),
    "runs-of": ("runs", "次运行"),
    "from-to": ("from {from} to {to}", "{from} 至 {to}"),
    "failures": ("Failures", "失败"),
    "failures-about": (
        "Failing cases of every run, by the clause that explains them; accepted failures are counted too. A green "
        "mark: none. A hatched mark: not judged in that run.",
        "各次运行的失败用例，按条款区分，已接受的失败也计入。绿线表示没有失败，斜线表示该次运行未判定。",
    ),
    "by-clause": ("By clause", "按条款"),
    "more-clauses": ("more clauses", "个其他条款"),
    "no-failures": ("No run has a failing case.", "所有运行均无失败用例。"),
    "limits": ("Limits", "限制"),
    "limits-about": (
        "The real edge of documented limits: green is as documented, red is not. Limits that moved, or are wrong in "
        "some run, stand here; the others are folded.",
        "文档所列限制的实测边界：绿色与文档一致，红色不一致。此处列出有变化或有误的限制，其余已折叠。",
    ),
    "steady-limits": ("probes with the same edge in every run", "个探测在各次运行中边界相同"),
    "points": ("Open points", "开放点"),
    "points-about": (
        "Answers where the documents leave them open: another colour is another set of answers. Points that were "
        "always answered alike are folded.",
        "文档未作规定之处的回答：颜色不同表示回答不同。回答始终一致的开放点已折叠。",
    ),
    "steady-points": ("points answered alike in every run", "个开放点在各次运行中回答一致"),
    "none-changed": ("None changed.", "均无变化。"),
    "history": ("Over the runs", "历次运行"),
    "latest": ("Latest", "最近一次"),
    "runs": ("Runs", "运行"),
    "run": ("Run", "运行"),
    "judged": ("Judged", "被测对象"),
    "failed": ("Failed", "失败"),
    "accepted": ("accepted", "已接受"),
    "code": ("Exit code", "退出码"),
    "unreadable": ("unreadable", "无法读取"),
    "unreadable-about": ("unreadable, and in no picture", "个结果无法读取，未计入图中"),
}
"""Word by its name: English, Chinese."""
