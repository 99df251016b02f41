"""One row per number, and the run store."""

from dissensus.records.archive import Packed, pack
from dissensus.records.canonical import canonical_json, content_name
from dissensus.records.merging import Merged, merge
from dissensus.records.record import Against, Checkpoint, Record, read_records, write_records
from dissensus.records.run import StoredRun, write_run
from dissensus.records.store import RunStore

__all__ = [
    "Against",
    "Checkpoint",
    "Merged",
    "Packed",
    "Record",
    "RunStore",
    "StoredRun",
    "canonical_json",
    "content_name",
    "merge",
    "pack",
    "read_records",
    "write_records",
    "write_run",
]
