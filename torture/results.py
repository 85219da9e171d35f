"""What a campaign has found so far: one small JSON file, counts and seeds, no contents of rows."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sasanet.whole_files import write_whole
from torture.case import Result

RESULTS = Path(__file__).parent / "results"
_SOURCE = Path(__file__).parent.parent / "src" / "sasanet"


@dataclass
class Found:
    """The outcomes of the seeds 0, 1, … ``cases`` − 1 of one campaign."""

    campaign: str
    cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    defects: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0  # of work, over all workers
    slowest_seconds: float = 0.0
    largest_case_mib: float = 0.0
    peak_mib: float = 0.0
    code: Counter[str] = field(default_factory=Counter)  # cases by state of the package

    def add(self, result: Result, code: str) -> None:
        """Note one more case."""
        self.cases += 1
        self.code[code] += 1
        self.counts.update(result.counts)
        if result.defect:
            self.defects[result.seed] = result.defect
        self.seconds += result.seconds
        self.slowest_seconds = max(self.slowest_seconds, result.seconds)
        self.largest_case_mib = max(self.largest_case_mib, result.memory_mib)
        self.peak_mib = max(self.peak_mib, result.peak_mib)

    def repeat(self, result: Result) -> None:
        """Note a case that was a defect and has been tried again."""
        del self.defects[result.seed]
        if result.defect:
            self.defects[result.seed] = result.defect
        self.counts.update(result.counts)

    def to_json(self) -> str:
        """Return the file's text."""
        record: dict[str, Any] = {
            "campaign": self.campaign,
            "cases": self.cases,
            "first_seed": 0,
            "outcomes": dict(sorted(self.counts.items())),
            "defects": [{"seed": s, "what": self.defects[s]} for s in sorted(self.defects)],
            "seconds": round(self.seconds, 1),
            "slowest_seconds": round(self.slowest_seconds, 2),
            "largest_case_mib": round(self.largest_case_mib, 1),
            "peak_mib": round(self.peak_mib),
            "code": dict(self.code),
        }
        return json.dumps(record, indent=1, ensure_ascii=True) + "\n"

    def save(self, folder: Path) -> None:
        """Write the file."""
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{self.campaign}.json", self.to_json().encode())


def load_found(campaign: str, folder: Path) -> Found:
    """Return what was found before, or a fresh start."""
    path = folder / f"{campaign}.json"
    if not path.exists():
        return Found(campaign)
    saved = json.loads(path.read_text("utf-8"))
    return Found(
        campaign=saved["campaign"],
        cases=saved["cases"],
        counts=Counter(saved["outcomes"]),
        defects={defect["seed"]: defect["what"] for defect in saved["defects"]},
        seconds=saved["seconds"],
        slowest_seconds=saved["slowest_seconds"],
        largest_case_mib=saved["largest_case_mib"],
        peak_mib=saved["peak_mib"],
        code=Counter(saved["code"]),
    )


def state_of_code() -> str:
    """Return a short name of the package's present source."""
    digest = hashlib.sha256()
    for path in sorted(_SOURCE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(_SOURCE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:12]
