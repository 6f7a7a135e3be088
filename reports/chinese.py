"""Chinese of the sentences that stand in results in English: reasons of the exit code, situations of limit probes."""

from __future__ import annotations

import re

CAUSES = {
    "time-limit": "到达时间上限",
    "backend-lost": "后端失联",
    "unreported": "未上报",
    "no reason given": "未给出原因",
}
"""Why cases were not run."""

REASONS = (
    (r"interrupted; the results are partial", "被中断，结果不完整"),
    (r"(\d+) cases? met a fault of the suite itself", "{0} 个用例遇到测试套件自身的错误"),
    (r"(\d+) cases? disagrees? with the documents", "{0} 个用例与文档不一致"),
    (r"(\d+) limit probes? disagrees? with the documents", "{0} 个限制探测点与文档不一致"),
    (r"(\d+) cases? not run \((.+)\)", "{0} 个用例未执行（{1}）"),
    (r"(\w+) is not supported \((.*)\)", "不支持 {0}（{1}）"),
    (r"(\w+): no call that must succeed was judged and succeeded", "{0}：没有必须成功的调用得到判定并成功"),
    (
        r"(\w+): no call that must succeed was judged and succeeded \((.+)\)",
        "{0}：没有必须成功的调用得到判定并成功（{1}）",
    ),
    (r"(\w+) is claimed by the profile and not supported \((.*)\)", "配置声明支持 {0}，但实际不支持（{1}）"),
    (
        r"(\d+) cases? of the must-pass list not judged \(first: (.+)\)",
        "必须通过清单中有 {0} 个用例未判定（首个：{1}）",
    ),
    (r"(.+): waiver (\S+): (.+)", "{0}：豁免 {1}：{2}"),
    (r"(.+): (\d+) known failures of the baseline pass, first (.+)", "{0}：基线中有 {1} 个已知失败现已通过，首个：{2}"),
    (r"(.+): (\d+) skips of the baseline are judged, first (.+)", "{0}：基线中有 {1} 个跳过项现已判定，首个：{2}"),
    (
        r"(.+): (\d+) limits of the baseline are as documented, first (.+)",
        "{0}：基线中有 {1} 个限制现与文档一致，首个：{2}",
    ),
    (
        r"(.+): (\d+) unsupported functions of the baseline are supported, first (.+)",
        "{0}：基线中有 {1} 个不支持的函数现已支持，首个：{2}",
    ),
    (
        r"(.+): (\d+) (\w+) of the baseline name nothing there is, first (.+)",
        "{0}：基线中有 {1} 项（{2}）不对应任何现有内容，首个：{3}",
    ),
    (
        r"no (\w+) above (\d+) KiB succeeded \(largest granted: (\d+) bytes\)",
        "没有超过 {1} KiB 的 {0} 成功（获得的最大数据区：{2} 字节）",
    ),
)
"""Reasons of the exit code, without the backend that stands before them."""

SITUATIONS = (
    (r"at offset (\d+)", "偏移 {0}"),
    (r"size (\d+)", "长度 {0}"),
    (r"area size (\d+)", "数据区大小 {0}"),
    (r"(\d+) appended to the head", "链首之后追加 {0} 个"),
)
"""Situations that the tables of this version probe."""


def reason(text: str) -> str:
    """A reason of the exit code in Chinese, '' when it is none of those."""
    backend, mark, rest = text.partition(": ")
    told = _told(text, REASONS)
    if told or not mark:
        return told
    inner = _told(rest, REASONS)
    return f"{backend}：{inner}" if inner else ""


def situation(text: str) -> str:
    """The situation of a limit probe in Chinese, '' when it is none of those."""
    return _told(text, SITUATIONS)


def _told(text: str, known: tuple[tuple[str, str], ...]) -> str:
    for pattern, chinese in known:
        found = re.fullmatch(pattern, text, re.DOTALL)
        if found:
            return chinese.format(*(CAUSES.get(group, group) for group in found.groups()))
    return ""
