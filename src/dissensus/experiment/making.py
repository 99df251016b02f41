"""Runs made in this process: claimed one by one, trained side by side where there is a GPU, written as they end."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

from dissensus.base.errors import DissensusError, StoreError
from dissensus.datasets import Dataset
from dissensus.experiment.clock import Clock
from dissensus.experiment.events import Progress, Teller
from dissensus.experiment.machine import one_thread
from dissensus.experiment.plan import Plan
from dissensus.experiment.run import Begun, How, Looked, begin
from dissensus.experiment.source import Source
from dissensus.experiment.writer import Writer, at_once
from dissensus.records import RunStore

if TYPE_CHECKING:
    from dissensus.training import Diverged, Ended, Job


class Maker:
    """Makes runs, with the data loaded once. Runs that another process has are passed over."""

    def __init__(self, source: Source, store: RunStore, how: How, writer: Writer = at_once) -> None:
        self.source, self.store, self.how, self.writer = source, store, how, writer
        self.data: Dataset | None = None
        self.under_way: dict[str, tuple[Begun, Teller]] = {}
        # Written, or about to be: what came of the look inside, or that it diverged.
        self.written: dict[str, tuple[Future[str], Looked | Diverged]] = {}
        self.clock = Clock()

    def __call__(
        self,
        plans: Iterable[Plan],
        tell: Progress,
        stop: Callable[[], bool] = lambda: False,
        say: Callable[[str], object] | None = None,
    ) -> None:
        """Tell of the start, of each epoch and of the end of every run.

        A plan is taken when there is room for it. When ``stop`` says True, those under way write their checkpoints. An
        error ends its run, except that a full or read-only disk fails every run alike, and is raised.
        """
        from dissensus.training import side_by_side

        def stop_here() -> bool:
            self._publish()
            return stop()

        try:
            with one_thread():
                jobs = self._jobs(plans, tell, stop)
                for ended in side_by_side(jobs, self.how.width, self.how.engine, stop_here, say):
                    self._end(ended)
                    self._publish()
            self._wait()
            self._publish()
        finally:
            self._let_go()

    def _jobs(self, plans: Iterable[Plan], tell: Progress, stop: Callable[[], bool]) -> Iterator[Job]:
        for plan in plans:
            if plan.name in self.store:
                Teller(plan, tell)("skipped")
                continue
            try:
                if self.data is None:
                    self.data = self.source.load()
                    if stop():  # it may have taken long
                        return
                source = self.source.told
                begun = begin(plan, self.data, self.store, self.how, source, self.clock)
                if begun is None:
                    continue
                items = "items" if self.data.kind == "features" else self.data.kind
                teller = Teller(plan, tell, len(begun.split.train), items, begun.resumed_at, self.clock)
                self.under_way[plan.name] = begun, teller
                teller("started")
                job = begun.job(teller.epoch, tag=plan.name)
            except Exception as error:
                self._fail(plan.name, error, Teller(plan, tell))
                continue
            yield job

    def _end(self, ended: Ended) -> None:
        from dissensus.training import Diverged, Stopped

        name: str = ended.job.tag
        begun, teller = self.under_way[name]
        if ended.fitted is not None:
            try:
                looked = begun.diagnose(ended.fitted)
                self.written[name] = self.writer(begun.staging, name, begun.content(ended.fitted, looked)), looked
            except Exception as error:  # such as no room for the weights
                self._fail(name, error, teller)
        elif isinstance(ended.error, Stopped):
            self._discard(name)
            teller("stopped")
        elif isinstance(ended.error, Diverged) and self.how.keep_diverged:
            content = begun.content_diverged(ended.error)
            self.written[name] = self.writer(begun.staging, name, content), ended.error
        elif ended.error is not None:
            self._fail(name, ended.error, teller)

    def _publish(self) -> None:
        """Make runs of what has been written by now."""
        from dissensus.training import Diverged

        for name in [name for name, (future, _) in self.written.items() if future.done()]:
            future, came = self.written.pop(name)
            begun, teller = self.under_way[name]
            if (error := future.exception()) is not None:
                self._fail(name, error, teller)
                continue
            del self.under_way[name]
            begun.claim.close()
            if isinstance(came, Diverged):
                teller("diverged", str(came))
            elif future.result():
                teller("failed", f"it is done and kept, but could not be scored.\n{future.result()}")
            elif came.error is not None:
                teller("failed", f"it is done and kept, but could not be diagnosed.\n{_told(came.error)}")
            else:
                teller("done", looking=came.seconds)

    def _fail(self, name: str, error: BaseException, teller: Teller) -> None:
        self._discard(name, error)
        if isinstance(error, StoreError):
            raise error
        teller("failed", _told(error))

    def _discard(self, name: str, error: BaseException | None = None) -> None:
        """Give the claim up; what lies in the staging folder is no run."""
        if name in self.under_way:
            begun, _ = self.under_way.pop(name)
            error = error or KeyboardInterrupt()
            begun.claim.__exit__(type(error), error, error.__traceback__)

    def _wait(self) -> None:
        """Until all that is to be written is."""
        wait([future for future, _ in self.written.values()])

    def _let_go(self) -> None:
        """However it ended: what is whole becomes a run, what is not gives its name back."""
        self._wait()
        for name, (future, _) in self.written.items():
            if future.exception() is None:
                self.under_way.pop(name)[0].claim.close()
        self.written.clear()
        for name in list(self.under_way):
            self._discard(name)


def _told(error: BaseException) -> str:
    """What a user can mend in a sentence, anything else with its traceback."""
    return str(error) if isinstance(error, DissensusError) else "".join(traceback.format_exception(error))
