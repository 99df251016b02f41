"""How long do the top eigenvalue to 1 % and a trace from 50 probes take for a ResNet-18, and how right are they?

    python benchmarks/curvature.py --out FILE.json                      # on a GPU
    python benchmarks/curvature.py --ways ours,double --out FILE.json   # some ways
    python benchmarks/curvature.py --model FILE.pt --out FILE.json      # goes on where the last call was killed
    python benchmarks/curvature.py --tiny --out FILE.json               # does everything work? any machine

The net is trained for some epochs on CIFAR-10H; its curvature is measured on the 2,000 images that were held out, in
chunks of one size for all, or smaller ones for a way that runs out of memory. Ways are interleaved and repeated; the
first time (compilation, the choice of algorithms) is told apart. The reference is ours in float64: the eigenvalue to
1e-5, and the trace with the probes of ours, so that what differs is the arithmetic; and deflated, which is nearer to
the truth, for those that draw probes of their own.

The file is written after every measurement. With ``--model`` the net is kept, too, and what the file holds already is
not measured again; what failed is tried again.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import shlex
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from measure import environment
from peers_job import RECIPE, SEED, Clock, Job, digest
from torch import Tensor, nn

from dissensus import Soft
from dissensus.base.files import written_whole
from dissensus.diagnostics.hvp import Hessian, Product, double_backward, forward_over_reverse, products_in
from dissensus.diagnostics.lanczos import first, krylov, start
from dissensus.diagnostics.power_iteration import iterated
from dissensus.diagnostics.trace import estimate, probed, signs
from dissensus.evaluation.predict import evaluating
from dissensus.training import Engine, fit
from dissensus.training.inputs import prepare_by

PROBES, TOLERANCE, MOST = 50, 0.01, 200


@dataclass(frozen=True)
class Given:
    """A trained model and the items on which it is looked at."""

    model: nn.Module
    inputs: Tensor
    targets: Tensor
    chunk: int
    precision: str = "fp32"

    def hessian(self, product: Product | None = None, kind: type[Hessian] = Hessian) -> Hessian:
        return kind(self.model, self.inputs, self.targets, chunk=self.chunk, precision=self.precision, product=product)


@dataclass(frozen=True)
class Answer:
    top: float
    trace: float
    trace_se: float | None
    products: int
    deflated_trace: float | None = None  # from the same probes, with the space of Lanczos
    deflated_trace_se: float | None = None


class ByProducts(Hessian):
    """Forms from products, for several vectors at once."""

    def forms(self, vectors: Tensor) -> Tensor:
        return torch.linalg.vecdot(vectors, self(vectors))


class OneByOne(ByProducts):
    """A pass over the items for every vector."""

    def __call__(self, vectors: Tensor) -> Tensor:
        return torch.cat([super(OneByOne, self).__call__(vector[None]) for vector in vectors])


def lanczos_and_probes(hessian: Hessian, probes: int = PROBES) -> Answer:
    space = krylov(hessian, start(hessian, 0), 1, TOLERANCE, MOST)
    values = probed(hessian, probes, 0, space)
    trace, deflated = estimate(values.plain), estimate(values.rest, known=float(space.diagonal.sum()))
    return Answer(
        first(space, TOLERANCE).value,
        trace.value,
        trace.standard_error,
        hessian.products,
        deflated.value,
        deflated.standard_error,
    )


COMPILED: Product = torch.compile(forward_over_reverse, dynamic=False)


def ours(given: Given) -> Answer:
    """Probes by forward passes, Lanczos by a backward pass through them."""
    return lanczos_and_probes(given.hessian())


def forward(given: Given) -> Answer:
    """The same with forward over reverse for Lanczos."""
    return lanczos_and_probes(given.hessian(forward_over_reverse))


def compiled(given: Given) -> Answer:
    """The same with compiled products for Lanczos."""
    return lanczos_and_probes(given.hessian(COMPILED))


def mixed(given: Given) -> Answer:
    """The same with double backward for Lanczos, which has one vector at a time."""
    return lanczos_and_probes(given.hessian(double_backward))


def products(given: Given) -> Answer:
    """Forward over reverse for both, probes ten at once."""
    return lanczos_and_probes(given.hessian(forward_over_reverse, ByProducts))


def compiled_products(given: Given) -> Answer:
    """The same, compiled."""
    return lanczos_and_probes(given.hessian(COMPILED, ByProducts))


def double(given: Given) -> Answer:
    """Double backward at equal error: our rules, one vector at a time."""
    return lanczos_and_probes(given.hessian(double_backward, OneByOne))


def pyhessian(given: Given) -> Answer:
    """PyHessian's algorithm: double backward, and both numbers until they change by less than a thousandth."""
    hessian = given.hessian(double_backward)
    top = iterated(hessian, start(hessian, 0), 1e-3, 100)
    values: list[float] = []
    for probe in range(100):
        z = signs(hessian, 0, probe)
        before = float(np.mean(values)) if values else 0.0
        values.append(float(z @ hessian(z[None])[0]))
        if abs(np.mean(values) - before) / (abs(before) + 1e-6) < 1e-3:
            break
    return Answer(top.value, float(np.mean(values)), None, hessian.products)


def curvlinops(given: Given) -> Answer:
    """curvlinops' operator with SciPy's Lanczos to 1 % and 50 probes, five at once (fifty fill the memory)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from curvlinops import HessianLinearOperator, hutchinson_trace
        from scipy.sparse.linalg import LinearOperator, eigsh

    products = 0
    chunks = zip(given.inputs.split(given.chunk), given.targets.split(given.chunk), strict=True)
    with evaluating(given.model), products_in(given.precision):
        operator = HessianLinearOperator(
            given.model, nn.CrossEntropyLoss(), list(given.model.parameters()), list(chunks), check_deterministic=False
        )
        theirs = operator.to_scipy()

        def product(vector: np.ndarray) -> np.ndarray:
            nonlocal products
            products += 1
            return theirs @ vector

        counted = LinearOperator(theirs.shape, matvec=product, dtype=theirs.dtype)
        top = eigsh(counted, 1, which="LA", tol=TOLERANCE, return_eigenvectors=False)[0]
        traces = [
            float(hutchinson_trace(operator, num_matvecs=5, distribution="rademacher")) for _ in range(PROBES // 5)
        ]
    return Answer(float(top), float(np.mean(traces)), None, products + PROBES)


WAYS: dict[str, Callable[[Given], Answer]] = {
    "ours": ours,
    "forward": forward,
    "compiled": compiled,
    "mixed": mixed,
    "products": products,
    "compiled-products": compiled_products,
    "double": double,
    "pyhessian": pyhessian,
    "curvlinops": curvlinops,
}
# A compiled product fails in torch 2.11, and leaves forward mode broken for what follows in the process.
USUAL = [name for name in WAYS if "compiled" not in name]


def reference(given: Given) -> dict[str, float]:
    """In float64; ``trace`` with our probes, ``deflated_trace`` nearer to the truth."""
    exact = replace(given, model=copy.deepcopy(given.model).double(), inputs=given.inputs.double(), precision="fp32")
    hessian = exact.hessian()
    space = krylov(hessian, start(hessian, 0), 1, 1e-5, MOST)
    values = probed(hessian, PROBES, 0, space)
    plain, deflated = estimate(values.plain), estimate(values.rest, known=float(space.diagonal.sum()))
    return {
        "top": first(space, 1e-5).value,
        "trace": plain.value,
        "trace_se": plain.standard_error,
        "deflated_trace": deflated.value,
        "deflated_trace_se": deflated.standard_error,
        "products": hessian.products,
    }


def timed(way: Callable[[Given], Answer], given: Given) -> tuple[Answer, float, float | None]:
    """The answer, its seconds, and the most GB that were allocated."""
    on_gpu = given.inputs.is_cuda
    if on_gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    answer = way(given)  # numbers on the host: the device has done its work
    seconds = time.perf_counter() - began
    return answer, seconds, torch.cuda.max_memory_allocated() / 1e9 if on_gpu else None


def fitted(way: Callable[[Given], Answer], given: Given) -> tuple[Given, tuple[Answer, float, float | None]]:
    """The first answer, in chunks of half the size until the way has memory enough."""
    while True:
        try:
            return given, timed(way, given)
        except RuntimeError as error:  # compiled code wraps the error of the device in one of its own
            if "out of memory" not in str(error) or given.chunk < 100:
                raise
        gc.collect()  # a peer's objects may hold each other, and the memory
        torch.cuda.empty_cache()
        given = replace(given, chunk=given.chunk // 2)


def shortened(message: str) -> str:
    """The first and the last words: what a device says of itself often comes last."""
    return message if len(message) < 400 else f"{message[:150]} ... {message[-250:]}"


def compare(
    ways: list[str],
    given: Given,
    repeats: int,
    truth: dict[str, float],
    told: dict[str, Any],
    keep: Callable[[dict[str, Any]], None],
) -> None:
    """Every way once to warm up, then in turn; ``told`` is what is known already, and is kept as it grows."""
    fitting: dict[str, Given] = {}
    for name in ways:
        if len(told.get(name, {}).get("seconds", ())) >= repeats > 0:
            continue
        if name in told and "failed" not in told[name]:  # known, but this process has to warm up
            fitting[name], _ = fitted(WAYS[name], replace(given, chunk=told[name]["chunk"]))
            continue
        try:
            fitting[name], (answer, cold, memory) = fitted(WAYS[name], given)
        except Exception as error:  # a peer that does not run here is a result
            told[name] = {"failed": shortened(f"{type(error).__name__}: {error}")}
            print(f"{given.precision} {name}: {told[name]['failed']}", flush=True)
            keep(told)
            continue
        told[name] = {
            "chunk": fitting[name].chunk,
            "top": answer.top,
            "top_error": abs(answer.top / truth["top"] - 1),
            "trace": answer.trace,
            "trace_se": answer.trace_se,
            "trace_error_same_probes": abs(answer.trace / truth["trace"] - 1) if answer.trace_se else None,
            "deflated_trace": answer.deflated_trace,
            "deflated_trace_se": answer.deflated_trace_se,
            "trace_error": abs(answer.trace / truth["deflated_trace"] - 1),
            "products": answer.products,
            "first_s": round(cold, 2),
            "memory_gb": memory and round(memory, 1),
            "seconds": [],
        }
        print(f"{given.precision} {name}: first {cold:.1f} s", flush=True)
        keep(told)
    ran = {name: told[name] for name in fitting}
    for turn in range(repeats):
        for name, row in ran.items():
            if len(row["seconds"]) > turn:
                continue
            row["seconds"].append(round(timed(WAYS[name], fitting[name])[1], 3))
            row["median_s"] = median(row["seconds"])
            keep(told)
    for name, row in ran.items():
        if row["seconds"]:
            print(
                f"{given.precision} {name}: {row['median_s']:.2f} s for {row['products']} products (first "
                f"{row['first_s']:.1f}), top {row['top']:.4g} off by {row['top_error']:.1e}, trace {row['trace']:.4g} "
                f"off by {row['trace_error']:.1e}, {row['memory_gb']} GB",
                flush=True,
            )


def growth(given: Given, more: Given, table: dict[str, Any], keep: Callable[[dict[str, Any]], None]) -> None:
    """Seconds by items, with 50 probes, and by probes; each measured after one round that warms up."""
    by_items, by_probes = table.setdefault("items", {}), table.setdefault("probes", {})
    table["precision"] = given.precision
    n = len(given.inputs)
    for items in sorted({n // 4, n // 2, n, 2 * n}):
        part = replace(more, inputs=more.inputs[:items], targets=more.targets[:items])
        if str(len(part.inputs)) in by_items:
            continue
        answers = [timed(lambda it: lanczos_and_probes(it.hessian()), part) for _ in range(2)]
        by_items[str(len(part.inputs))] = {"seconds": round(answers[1][1], 3), "products": answers[1][0].products}
        keep(table)
    for probes in (10, 25, 50, 100):
        if str(probes) in by_probes:
            continue
        if not by_probes:
            timed(lambda it: lanczos_and_probes(it.hessian(), 10), given)
        answer, seconds, _ = timed(lambda it, probes=probes: lanczos_and_probes(it.hessian(), probes), given)
        by_probes[str(probes)] = {"seconds": round(seconds, 3), "relative_se": answer.trace_se / abs(answer.trace)}
        keep(table)


def trained(job: Job, epochs: int, chunk: int, kept: Path | None) -> tuple[Given, Given]:
    """A model after some epochs, with the held-out items and with the training items; from ``kept`` if it is there."""
    recipe = replace(RECIPE, epochs=epochs, precision="fp32" if job.tiny else "tf32")
    if kept is not None and kept.exists():
        model = job.model().to(job.device)
        model.load_state_dict(torch.load(kept, map_location=job.device, weights_only=True))
    else:
        engine = Engine(graph=not job.tiny, kernels=not job.tiny)
        run = fit(lambda: job.model().to(job.device), job.images, Soft(job.votes), recipe, seed=SEED, engine=engine)
        model = run.model
        if kept is not None:
            with written_whole(kept) as part:  # a process that is killed leaves a whole file behind
                torch.save(model.state_dict(), part)

    def on(images: np.ndarray, votes: Any) -> Given:
        inputs = torch.from_numpy(images).to(job.device)
        targets = torch.from_numpy(votes.frequencies().astype(np.float32)).to(job.device)
        return Given(model, prepare_by(recipe, inputs).to(job.device)(inputs), targets, chunk)

    return on(job.held_out_images, job.held_out_votes), on(job.images, job.votes)


def begun(out: Path, what: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The commands so far, and what the file holds of the same model on the same items."""
    record = json.loads(out.read_text("utf-8"))
    result = record["result"]
    before = {name: result.get(name) for name in what}
    if before != what:
        raise SystemExit(f"{out} holds measurements of {before}, not of {what}. Give another --out.")
    return record["command"], result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", default=",".join(USUAL), help=f"separated by commas: {', '.join(WAYS)}")
    parser.add_argument("--fp32-ways", help="the ways in fp32, where they are not those of TF32")
    parser.add_argument("--precisions", default="tf32,fp32")
    parser.add_argument("--chunk", type=int, default=1000, help="items a pass")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-growth", action="store_true", help="without the tables by items and by probes")
    parser.add_argument("--tiny", action="store_true", help="glyphs and a thin net on the CPU")
    parser.add_argument("--model", type=Path, help="where the trained net is kept, to go on with a file later")
    parser.add_argument("--out", type=Path, required=True)
    told = parser.parse_args()
    files = {str(told.out): "FILE.json", str(told.model): "FILE.pt"}
    asked = [files.get(word, word) for word in sys.argv[1:]]
    epochs, repeats, precisions = told.epochs, told.repeats, told.precisions.split(",")
    if told.tiny:
        epochs, repeats, precisions = 2, 1, ["fp32"]
    job = Job.load(epochs=epochs, tiny=told.tiny, clock=Clock(time.perf_counter()))
    given, more = trained(job, epochs, told.chunk, told.model)
    ways = told.ways.split(",")
    if told.tiny:  # compiling for a processor takes minutes
        given, more = (replace(it, inputs=it.inputs[:16], targets=it.targets[:16]) for it in (given, more))
        ways = [way for way in ways if "compiled" not in way]
    record: dict[str, Any] = {
        "command": f"python benchmarks/curvature.py {shlex.join(asked)}",
        "environment": environment(("numpy", "torch")),
    }
    if not told.tiny:
        record["environment"]["machine"]["gpu"] = torch.cuda.get_device_name()
    what = {"items": len(given.inputs), "chunk": told.chunk, "probes": PROBES, "weights": digest(given.model)}
    what |= {"commit": record["environment"]["commit"], "gpu": record["environment"]["machine"].get("gpu")}
    result = dict(what)
    if told.model and told.out.exists():
        before, result = begun(told.out, what)
        record["command"] = " && ".join(dict.fromkeys([*before.split(" && "), record["command"]]))

    def keep(name: str, part: dict[str, Any]) -> None:
        result[name] = part
        text = json.dumps(record | {"result": result}, indent=2, sort_keys=True, allow_nan=False)
        with written_whole(told.out) as whole:
            whole.write_text(text + "\n", "utf-8")

    if "reference" not in result:
        began = time.perf_counter()
        keep("reference", reference(given))
        print(f"reference in {time.perf_counter() - began:.0f} s: {result['reference']}", flush=True)
    for precision in precisions:
        chosen = told.fp32_ways.split(",") if told.fp32_ways and precision == "fp32" else ways
        here = replace(given, precision=precision)
        compare(chosen, here, repeats, result["reference"], result.get(precision, {}), partial(keep, precision))
    if not told.no_growth:
        precision = "tf32" if "tf32" in precisions else precisions[0]
        parts = (replace(it, precision=precision) for it in (given, more))
        growth(*parts, result.get("growth", {}), partial(keep, "growth"))
        print(json.dumps(result["growth"]), flush=True)


if __name__ == "__main__":
    main()
