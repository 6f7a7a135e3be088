"""Results made by hand, for tests of everything that is made from results."""

from __future__ import annotations

import dataclasses

from acl_cts.reports.clause_text import ClauseText
from acl_cts.reports.evidence import Evidence
from acl_cts.reports.exit_code import final, holding
from acl_cts.reports.expected import BaselineUse, Expected, StaleItem, Use, WaiverUse
from acl_cts.reports.limit_result import LimitKind, LimitResult, LimitVerdict
from acl_cts.reports.profile_use import MustPass, ProfileUse
from acl_cts.reports.results import BackendRun, CaseResult, Cause, FunctionSupport, Results, RunNote, Support
from acl_cts.reports.tables import DefectText, FamilyText, LimitText, Tables
from acl_cts.specs.judgement import Finding, Observation, Strength, Verdict

ALLOC = "aclrtAllocBuf"

EVIDENCE = Evidence(
    "a = aclrtAllocBuf(size=1)\n" * 9, "acl-cts replay failures/b/program.txt --backend core", "int x;\n"
)

TABLES = Tables(
    families={"mbuf": FamilyText("reserved", "Shared buffers", "共享缓冲区", (ALLOC,))},
    clauses={
        "mbuf.x": ClauseText(
            "Above the limit it must fail.", "chapter 20", "超过上限必须失败。", "explicit", "error", "mbuf", ALLOC
        ),
        "mbuf.z": ClauseText(
            "What it answers is not said.", "chapter 20", "未说明。", "implied", "open", "mbuf", ALLOC
        ),
        "common.q": ClauseText("Every call returns.", "chapter 1", "调用必须返回。", "implied", "", "mbuf", ""),
    },
    limits={
        "area": LimitText(
            "mbuf", "bytes of an area", "chapter 20, size (current)", "byte", (("binary", 4096), ("decimal", 4000))
        ),
        "length": LimitText("mbuf", "data length", "chapter 20, len (current)", "byte", (), "size - 1"),
    },
    defects={"mbuf.d": DefectText("The text contradicts itself.", "文中自相矛盾。", "chapter 20")},
)

PROBED = LimitResult(
    "area",
    ALLOC,
    "size",
    "byte",
    LimitKind.ABSOLUTE,
    (("binary", 4096), ("decimal", 4000)),
    LimitVerdict.DIFFERS,
    measured=2048,
    detail="2049 bytes are refused",
    context="one area",
    steps=17,
)


def finding(strength: Strength = Strength.EXPLICIT, clause: str = "mbuf.x") -> Finding:
    return Finding(clause, strength, ALLOC, 3, (1, 2), "an error", "success")


def good(name: str = "a", **more: object) -> CaseResult:
    fields = {"functions": (ALLOC,), "succeeded": (ALLOC,), "granted": 1 << 20, "attempts": 1} | more
    return CaseResult(**{"id": f"mbuf/g/{name}~00000000", "verdict": Verdict.PASS} | fields)  # type: ignore[arg-type]


def bad(verdict: Verdict = Verdict.FAIL, strength: Strength = Strength.EXPLICIT, **more: object) -> CaseResult:
    fields = {
        "functions": (ALLOC,),
        "discrepancies": (finding(strength),),
        "files": "failures/b",
        "evidence": EVIDENCE,
    } | more
    usual = {"id": "mbuf/g/b~00000001", "verdict": verdict, "reason": "expected an error"}
    return CaseResult(**usual | fields)  # type: ignore[arg-type]


def not_run(cause: Cause) -> CaseResult:
    return CaseResult("mbuf/g/n~00000002", Verdict.NOT_RUN, "why", cause)


SUPPORTED = FunctionSupport(ALLOC, "mbuf", Support.SUPPORTED, reserved=True)


def results(*cases: CaseResult, support: tuple[FunctionSupport, ...] = (SUPPORTED,), **more: object) -> Results:
    limits: tuple[LimitResult, ...] = more.pop("limits", ())  # type: ignore[assignment]
    run = BackendRun(
        "core", {"backend": "core"}, ("streams",), support, cases, limits=limits, case_list="abc", duration=1.5
    )
    fields = {"finished": True, "filtered": False, "seed": None, "runs": (run,)} | more
    return Results(
        version="0.1.0", spec="d" * 64, started="2026-01-01T00:00:00+00:00", ended="2026-01-01T00:00:02+00:00",
        options={}, **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def full() -> Results:
    """Results in which every field holds something."""
    case = bad(
        blocked=(finding(Strength.IMPLIED, "mbuf.y"),),
        notes=(finding(Strength.ADVISORY),),
        observations=(Observation("mbuf.z", "error", 1, "key"),),
        held=("mbuf.q",),
        clauses=("mbuf.x",),
    )
    found = results(good(), case, not_run(Cause.PLANNED), seed=7)
    lacking = FunctionSupport("aclrtFreeBuf", "mbuf", Support.NOT_SUPPORTED, "answers 207000", "", True)
    identity = {"backend": "core", "library": "/lib/x.so", "sha256": "ab", "details": {"soc": "one"}}
    run = dataclasses.replace(
        found.runs[0],
        identity=identity,
        support=(SUPPORTED, lacking),
        notes=(RunNote("mbuf.z", "key", (("error", 2, "a"), ("ok", 1, "b"))),),
        limits=(PROBED,),
    )
    found = dataclasses.replace(
        found,
        runs=(run,),
        options={"library": "/lib/x.so"},
        tables=TABLES,
        environment={"python": "CPython 3.11", "processors": "2"},
        fail_on=frozenset({Strength.EXPLICIT, Strength.OBLIGATION}),
    )
    found = _expecting(found)
    holds = holding(found, found.fail_on)
    return dataclasses.replace(found, holds=holds, code=final(holds))


def _expecting(found: Results) -> Results:
    """`found` with a profile, and with a failure that a waiver covers and the baseline does not need to."""
    waived = bad(id="mbuf/g/w~00000003", accepted=("W-1",), repeats=3, failed=2, after=("mbuf/g/a~00000000",))
    run = found.runs[0]
    run = dataclasses.replace(run, cases=(*run.cases, waived), must_pass=MustPass(4, 1, 0, 1, 1, 1, "mbuf/g/o"))
    used = WaiverUse("W-1", "known", "Ann", "https://tracker.example/1", "2026-02-01", "w.yaml:3", Use.USED, cases=1)
    stale = StaleItem("flakes", "mbuf/gone/*", Use.NOTHING, "b.yaml:9")
    return dataclasses.replace(
        found,
        runs=(run, *found.runs[1:]),
        profile=ProfileUse("general", 1, "Products", "产品", "e" * 64, {"shared-buffer": "current"}, "f" * 64),
        expected=Expected((used,), "w.yaml", "a" * 64, BaselineUse("b.yaml", "b" * 64, 1, stale=(stale,))),
    )


def many(number: int, *backends: str) -> Results:
    """Results of `number` cases on each backend; every 50th fails on the last backend, every 70th is not run."""

    def case(place: int, last: bool) -> CaseResult:
        name = f"mbuf/limit/{ALLOC}/a-state/size={place}~{place:08x}"
        clauses = tuple(f"mbuf.c{k % 60}" for k in range(place % 7, place % 7 + 25))
        if last and place % 50 == 0:
            found = finding(clause=f"mbuf.c{place // 50 % 4}")
            return CaseResult(
                name, Verdict.FAIL, "success", clauses=clauses, functions=(ALLOC,), discrepancies=(found,),
                files=f"failures/{place}", evidence=EVIDENCE, held=clauses[:3], duration=0.001,
            )  # fmt: skip
        if place % 70 == 0:
            return CaseResult(name, Verdict.NOT_RUN, "no hooks here", Cause.CAPABILITY, clauses, (ALLOC,))
        open_point = Observation("mbuf.z", "refused" if last else "accepted", 1, "key")
        return good(str(place), clauses=clauses, observations=(open_point,), held=clauses[:3], duration=0.001, id=name)

    runs = tuple(
        BackendRun(
            name, {"backend": name}, (), (SUPPORTED,), tuple(case(k, name == backends[-1]) for k in range(number))
        )
        for name in backends
    )
    found = dataclasses.replace(full(), runs=runs)
    holds = holding(found, found.fail_on)
    return dataclasses.replace(found, holds=holds, code=final(holds))
