"""Test results, read from and written to JUnit XML."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
NOT_IN_XML = {code: None for code in range(32) if code not in (9, 10, 13)}


@dataclass(frozen=True)
class Case:
    group: str  # gtest suite, or Python module with dots
    name: str
    outcome: str
    text: str = ""  # the failure's words, or the reason of a skip
    seconds: float = 0.0

    @property
    def full_name(self):
        return f"{self.group}.{self.name}"


def _case(element):
    group, name = element.get("classname", ""), element.get("name", "")
    seconds = float(element.get("time") or 0)
    for child in element:
        if child.tag in ("failure", "error"):
            message, body = child.get("message") or "", child.text or ""
            text = body if message in body else f"{message}\n{body}"
            return Case(group, name, FAILED, text.strip(), seconds)
    skipped = element.find("skipped")
    if skipped is not None or element.get("result") == "skipped":
        reason = "" if skipped is None else (skipped.get("message") or skipped.text or "")
        # GoogleTest puts the place on a line before the words.
        words = [line for line in reason.strip().splitlines() if line.strip()]
        return Case(group, name, SKIPPED, words[-1] if words else "no reason given", seconds)
    if element.get("status") == "notrun":
        return Case(group, name, SKIPPED, "switched off", seconds)
    return Case(group, name, PASSED, "", seconds)


def read(path):
    """The cases of one result file; raises ET.ParseError or OSError where there is no whole file."""
    return [_case(element) for element in ET.parse(path).getroot().iter("testcase")]


def read_all(folder):
    """The cases of every readable result file in a folder."""
    cases = []
    for path in sorted(Path(folder).glob("*.xml")):
        try:
            cases += read(path)
        except (ET.ParseError, OSError):
            continue
    return cases


def write(path, cases):
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", name=Path(path).stem)
    for case in cases:
        element = ET.SubElement(suite, "testcase", classname=case.group, name=case.name,
                                time=f"{case.seconds:.3f}")
        text = case.text.translate(NOT_IN_XML)
        if case.outcome == FAILED:
            ET.SubElement(element, "failure", message=text.split("\n")[0]).text = text
        elif case.outcome == SKIPPED:
            ET.SubElement(element, "skipped", message=text)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def count(cases, outcome):
    return sum(case.outcome == outcome for case in cases)
