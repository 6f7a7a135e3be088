"""Forms that others define: they keep to the published schemas of SARIF 2.1.0 and of JUnit as Jenkins reads it."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import xmlschema
from made_results import EVIDENCE, PROBED, bad, finding, full, good, many, not_run, results
from pydantic import ValidationError
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif
from test_renderings import PAYLOADS, spoilt

from acl_cts.reports.exit_code import final, holding
from acl_cts.reports.files import write_text
from acl_cts.reports.junit import junit
from acl_cts.reports.limit_result import LimitVerdict
from acl_cts.reports.results import Cause, Results, from_json, to_json
from acl_cts.reports.sarif import MOST, sarif
from acl_cts.reports.shard import Shard
from acl_cts.specs.judgement import Strength, Verdict

JUNIT = xmlschema.XMLSchema(Path(__file__).resolve().parent / "schemas" / "junit-10.xsd")

ERROR = dataclasses.replace(not_run(Cause.NONE), verdict=Verdict.ERROR, id="mbuf/e~00000009")


def judged(found: Results) -> Results:
    holds = holding(found, found.fail_on)
    return dataclasses.replace(found, holds=holds, code=final(holds))


SHARD = dataclasses.replace(results(good()), shard=Shard(2, 4))
RED = dataclasses.replace(
    results(
        good(),
        bad(),
        bad(Verdict.CRASH, id="mbuf/c~00000003", discrepancies=(), files=""),
        bad(strength=Strength.IMPLIED, id="mbuf/i~00000004", evidence=None),
        bad(id="mbuf/w~00000005", accepted=("W-1",)),
        good("n", notes=(finding(Strength.ADVISORY),)),
        not_run(Cause.CAPABILITY),
        ERROR,
        limits=(PROBED, dataclasses.replace(PROBED, verdict=LimitVerdict.AS_DOCUMENTED)),
    )
)
EVERY = {
    "full": judged(full()),
    "red": judged(RED),
    "green": judged(results(good())),
    "empty": judged(dataclasses.replace(results(), runs=())),
    "unfinished": judged(dataclasses.replace(results(good()), finished=False)),
    "shard": judged(SHARD),
    "many": judged(many(300, "core", "acl")),
}


def read(found: Results, tmp_path: Path) -> dict[str, Any]:
    """The SARIF of `found` as a reader meets it: out of a file, by the published schema."""
    write_text(tmp_path / "report.sarif", sarif(found))
    document: dict[str, Any] = json.loads((tmp_path / "report.sarif").read_text(encoding="utf-8"))
    Sarif.model_validate(document)
    return document


@pytest.mark.parametrize("name", EVERY)
def test_sarif_and_junit_keep_to_their_schemas(name: str, tmp_path: Path) -> None:
    assert read(EVERY[name], tmp_path)["version"] == "2.1.0"
    JUNIT.validate(junit(EVERY[name]))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_they_keep_to_them_whatever_a_library_says(payload: str, tmp_path: Path) -> None:
    found = from_json(spoilt(to_json(judged(full())), payload))
    JUNIT.validate(junit(found))
    assert len(read(found, tmp_path)["runs"]) == 1


def test_the_schemas_refuse_what_is_wrong(tmp_path: Path) -> None:
    document = read(EVERY["red"], tmp_path)
    document["runs"][0]["results"][0]["level"] = "loud"
    with pytest.raises(ValidationError):
        Sarif.model_validate(document)
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        JUNIT.validate(junit(EVERY["red"]).replace("<testcase ", "<test-case ").replace("/testcase", "/test-case"))


def test_every_failure_is_a_result_of_its_clause(tmp_path: Path) -> None:
    (run,) = read(EVERY["red"], tmp_path)["runs"]
    told = Counter((result["ruleId"], result["level"]) for result in run["results"])
    assert told == {
        ("mbuf.x", "error"): 2,
        ("mbuf.x", "warning"): 1,
        ("mbuf.x", "note"): 1,
        ("verdict/crash", "error"): 1,
        ("limit/area", "error"): 1,
    }
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    waived = [result for result in run["results"] if "suppressions" in result]
    assert [result["properties"]["case"] for result in waived] == ["mbuf/w~00000005"]
    assert waived[0]["suppressions"][0]["justification"] == "accepted by W-1"
    first = run["results"][0]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "failures/b/program.txt", "uriBaseId": "REPORT"}
    assert place["region"]["snippet"]["text"] == EVIDENCE.program
    assert first["properties"]["reproduce"] == EVIDENCE.command
    assert len({json.dumps(result["partialFingerprints"]) for result in run["results"]}) == len(run["results"])
    (went,) = run["invocations"]
    assert (went["exitCode"], went["executionSuccessful"]) == (3, False)
    notices = [notice["message"]["text"] for notice in went["toolExecutionNotifications"]]
    assert "1 × not-run: why" in notices
    assert "mbuf/e~00000009: why" in notices


def test_what_fail_on_leaves_out_is_only_a_note(tmp_path: Path) -> None:
    found = dataclasses.replace(results(bad(strength=Strength.IMPLIED)), fail_on=frozenset({Strength.EXPLICIT}))
    (run,) = read(judged(found), tmp_path)["runs"]
    assert [result["level"] for result in run["results"]] == ["note"]


def test_a_shard_says_that_it_is_one(tmp_path: Path) -> None:
    (run,) = read(EVERY["shard"], tmp_path)["runs"]
    assert run["properties"]["shard"] == "shard 2 of 4"
    assert run["automationDetails"]["id"] == "acl-cts/core/2-of-4/"
    assert '<property name="shard" value="2/4" />' in junit(EVERY["shard"])


def test_no_more_results_than_code_hosts_show(tmp_path: Path) -> None:
    found = judged(results(*(bad(id=f"mbuf/{k}~{k:08x}") for k in range(MOST + 20)), not_run(Cause.CAPABILITY)))
    (run,) = read(found, tmp_path)["runs"]
    assert len(run["results"]) == MOST
    notices = [notice["message"]["text"] for notice in run["invocations"][0]["toolExecutionNotifications"]]
    assert "20 results left out here; results.json holds all" in notices
