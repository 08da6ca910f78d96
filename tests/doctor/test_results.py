"""Results of machines: every file of `benchmarks/results/devices/` is listed there, and hosts agree."""

import json
import pathlib
import re

import pytest

from jaxtree.doctor import Report

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks" / "results" / "devices"
README = (FOLDER / "README.md").read_text()
FILES = sorted(FOLDER.glob("*.json"))


def row_of(name, report):
    """The line of the table that a file has."""
    accelerators = [own["kind"] for own in report["devices"] if own["platform"] != "cpu"]
    device = ", ".join(dict.fromkeys(accelerators)) or report["machine"]["processor"]
    same = sum(own["differs"] is None and own["error"] is None for own in report["fits"])
    versions = f"{report['versions']['jaxtree']} | {report['versions']['jax']}"
    return f"| [{name}]({name}) | {device} | {versions} | {same} of {len(report['fits'])} the same |"


def unlike(reports):
    """The fits of one version on as many rows whose digests are not the same on all hosts, which must have one tree."""
    digests = {}
    for report in reports:
        for own in report["fits"]:
            if own["place"] == "host" and own["error"] is None:
                key = (report["form"], report["versions"]["jaxtree"], report["rows"], own.get("fit"))
                digests.setdefault(key, set()).add(own["digest"])
    return [key for key, found in digests.items() if len(found) > 1]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_result_is_listed(file):
    report = json.loads(file.read_text())
    assert re.fullmatch(rf"[a-z0-9-]+-{report['date']}\.json", file.name)
    assert row_of(file.name, report) in README.splitlines()


def test_every_listed_file_is_there_and_hosts_agree():
    assert re.findall(r"^\| \[(.*?\.json)\]", README, re.MULTILINE) == [file.name for file in FILES]
    reports = [json.loads(file.read_text()) for file in FILES]
    assert reports and unlike(reports) == []
    other = reports[0] | {"fits": [own | {"digest": "0" * 16} for own in reports[0]["fits"]]}
    assert len(unlike([reports[0], other])) == len([own for own in other["fits"] if own["place"] == "host"])


def test_the_page_has_every_field_of_the_form():
    fields = README.partition("## The form")[2]
    assert not [name for name in Report._fields if f"`{name}`" not in fields]
