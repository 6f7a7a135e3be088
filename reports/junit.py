"""JUnit XML: a test case for every case and every limit probe, for the dashboards that read nothing else."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from acl_cts.reports.exit_code import counts, counts_limit
from acl_cts.reports.limit_grid import cell, documented, where
from acl_cts.reports.limit_result import LimitResult, LimitVerdict
from acl_cts.reports.results import BackendRun, CaseResult, Results
from acl_cts.specs.judgement import Strength, Verdict

SKIPPED = frozenset({Verdict.NOT_SUPPORTED, Verdict.NOT_RUN, Verdict.INCONCLUSIVE})
UNDECIDED = frozenset({LimitVerdict.INCONCLUSIVE, LimitVerdict.NOT_SUPPORTED, LimitVerdict.NOT_PROBED})
"""Verdicts on limits that neither clear nor accuse."""

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped."""


def junit(results: Results) -> str:
    """The XML document: a suite per backend and one for its limits, in the form that Jenkins and Surefire share."""
    suites = [_suite(run, results.started, results.fail_on) for run in results.runs]
    if (profile := results.profile) is not None:
        for suite in suites:
            _told(suite, "profile", f"{profile.name} {profile.version} {profile.sha256}")
    if results.shard is not None:
        for suite in suites:
            _told(suite, "shard", f"{results.shard.number}/{results.shard.of}")
    suites += [_limits(run, results.started, results.fail_on) for run in results.runs if run.limits]
    root = ElementTree.Element("testsuites", name="acl-cts")
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.set("time", f"{sum(run.duration for run in results.runs):.3f}")
    root.extend(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(run: BackendRun, started: str, fail_on: frozenset[Strength]) -> ElementTree.Element:
    failures = sum(counts(case, fail_on) for case in run.cases)
    errors = sum(case.verdict is Verdict.ERROR for case in run.cases)
    skipped = sum(case.verdict in SKIPPED or bool(case.accepted) for case in run.cases)
    suite = ElementTree.Element(
        "testsuite",
        name=_clean(f"acl-cts.{run.backend}"),
        tests=str(len(run.cases)),
        failures=str(failures),
        errors=str(errors),
        skipped=str(skipped),
        time=f"{run.duration:.3f}",
        # Without an offset, which the form does not know; it is UTC.
        timestamp=started[:19],
    )
    suite.append(_properties(run))
    for name, number in run.accepted.items():
        if number:
            _told(suite, f"accepted.{name}", str(number))
    for case in run.cases:
        suite.append(_case(run.backend, case, counts(case, fail_on)))
    return suite


def _limits(run: BackendRun, started: str, fail_on: frozenset[Strength]) -> ElementTree.Element:
    """A test case for each probe of a limit: one may be accused that no case accuses."""
    suite = ElementTree.Element(
        "testsuite",
        name=_clean(f"acl-cts.{run.backend}.limits"),
        tests=str(len(run.limits)),
        failures=str(sum(counts_limit(limit, fail_on) for limit in run.limits)),
        errors="0",
        skipped=str(sum(_skips(limit) for limit in run.limits)),
        time="0.000",
        timestamp=started[:19],
    )
    for limit in run.limits:
        element = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_clean(f"{run.backend}.limits.{limit.limit}"),
            name=_clean(where(limit)),
            time="0.000",
        )
        kind = "failure" if counts_limit(limit, fail_on) else "skipped" if _skips(limit) else ""
        if kind:
            accepted = f"accepted ({', '.join(limit.accepted)}): " if limit.accepted else ""
            told = f"{accepted}{limit.verdict}: documented {documented(limit)}; here {cell(limit)}"
            child = ElementTree.SubElement(element, kind, message=_clean(told), type=limit.verdict)
            child.text = _clean(limit.detail)
    return suite


def _skips(limit: LimitResult) -> bool:
    """Whether nobody is to be alarmed although the probe did not clear the library."""
    return limit.verdict in UNDECIDED or bool(limit.accepted)


def _told(suite: ElementTree.Element, name: str, value: str) -> None:
    """Add a property to those of `suite`, which stand first in it."""
    ElementTree.SubElement(suite[0], "property", name=_clean(name), value=_clean(value))


def _properties(run: BackendRun) -> ElementTree.Element:
    """Who answered."""
    element = ElementTree.Element("properties")
    details = run.identity.get("details")
    known = {name: run.identity.get(name) for name in ("library", "sha256", "build_id")}
    for name, value in (known | (details if isinstance(details, dict) else {})).items():
        if value:
            ElementTree.SubElement(element, "property", name=_clean(str(name)), value=_clean(str(value)))
    return element


def _case(backend: str, case: CaseResult, failed: bool) -> ElementTree.Element:
    group, _, name = case.id.rpartition("/")
    element = ElementTree.Element(
        "testcase",
        classname=_clean(f"{backend}.{group.replace('/', '.')}"),
        name=_clean(name),
        time=f"{case.duration:.3f}",
    )
    if case.verdict is Verdict.ERROR:
        kind = "error"
    elif failed:
        kind = "failure"
    elif case.verdict in SKIPPED or case.accepted:
        kind = "skipped"
    else:
        return element
    accepted = f"accepted ({', '.join(case.accepted)}): " if case.accepted else ""
    told = f"{accepted}{case.verdict}: {case.reason}"
    child = ElementTree.SubElement(element, kind, message=_clean(told), type=case.verdict)
    lines = [f"{f.clause} ({f.strength}): expected {f.expected}; observed {f.observed}" for f in case.discrepancies]
    if case.evidence is not None:
        lines += [f"reproduce: {case.evidence.command}", "", case.evidence.program]
    child.text = _clean("\n".join(lines))
    return element


def _clean(text: str) -> str:
    return FORBIDDEN.sub("?", text)
