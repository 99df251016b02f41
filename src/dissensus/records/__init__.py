"""One row per number, and the run store."""

from dissensus.records.archive import Packed, pack
from dissensus.records.canonical import canonical_json, content_name
from dissensus.records.diagnosis import Diagnosis, Slice, Weights, read_diagnostics, renewed, write_diagnostics
from dissensus.records.merging import Merged, merge
from dissensus.records.record import CHECKPOINTS, Against, Checkpoint, Record, read_records, write_records
from dissensus.records.run import StoredRun, write_run
from dissensus.records.store import RunStore
from dissensus.records.wanted import Wanted

__all__ = [
    "CHECKPOINTS",
    "Against",
    "Checkpoint",
    "Diagnosis",
    "Merged",
    "Packed",
    "Record",
    "RunStore",
    "Slice",
    "StoredRun",
    "Wanted",
    "Weights",
    "canonical_json",
    "content_name",
    "merge",
    "pack",
    "read_diagnostics",
    "read_records",
    "renewed",
    "write_diagnostics",
    "write_records",
    "write_run",
]
