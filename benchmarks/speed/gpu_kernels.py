"""Check, time and tune the folded step on a GPU.

    python benchmarks/speed/gpu_kernels.py check graph time profile tune [model ...]

`check` compares the kernels with plain PyTorch in float32 (the same kernels in float32 first, then
bf16 beside torch's own autocast) and two runs with each other; `graph` compares replays with steps
run one by one; `time` gives milliseconds per step and the share of engine.md's roof; `profile`
lists kernels; `tune` tries block sizes on every product of a model. Details go to $OUT.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity
from torch.profiler import profile as recording

from tiercut.engines.folded import Chain, Clock, FoldedStep, Together, convolution
from tiercut.engines.folded.blocks import Blocks
from tiercut.engines.folded.geometry import Geometry
from tiercut.engines.folded.launch import compiling
from tiercut.engines.folded.precision import PRECISIONS, Precision, rounding
from tiercut.engines.optimiser import Optimiser
from tiercut.models.alexnet import alexnet
from tiercut.models.heads import build_head
from tiercut.models.layered import LayeredModel
from tiercut.models.resnet import resnet101
from tiercut.models.trace import activation_shapes
from tiercut.models.vgg import vgg11, vgg19

OUT = Path(os.environ.get("OUT", "/tmp"))
BATCH = 32
SGD = Optimiser("sgd", 0.01)
MOMENTUM = Optimiser("sgd", 0.01, momentum=0.9, weight_decay=5e-4)
RAGGED = [BATCH, 17, 0]


class Goal(NamedTuple):
    """A model, its clients and cut, the roof in ms per step, and the naive loop's samples/s."""

    make: Callable[[], LayeredModel]
    clients: int
    v: int
    roof: float
    naive: int


GOALS = {
    "alexnet": Goal(alexnet, 100, 3, 3.7, 7054),
    "vgg11": Goal(vgg11, 100, 4, 8.9, 4328),
    "vgg19": Goal(vgg19, 30, 8, 6.2, 2983),
    "resnet101": Goal(resnet101, 30, 12, 28.5, 774),
}


def stacked(part: nn.Sequential, clients: int, optimiser: Optimiser) -> Chain:
    """Fresh state on the GPU; clients differ by noise."""
    generator = torch.Generator("cuda").manual_seed(1)
    parameters = {}
    for key, value in part.named_parameters():
        stack = value.detach().cuda().expand(clients, *value.shape).clone()
        noise = torch.randn(stack.shape, device="cuda", generator=generator)
        parameters[key] = stack.add_(noise, alpha=0.1 * float(value.detach().abs().mean()))
    buffers = {
        key: value.cuda().expand(clients, *value.shape).clone()
        for key, value in part.named_buffers()
    }
    moments = {
        name: {key: torch.zeros_like(value) for key, value in parameters.items()}
        for name in optimiser.moments
    }
    steps = dict.fromkeys(parameters, torch.zeros(clients, dtype=torch.int64, device="cuda"))
    return Chain(part, parameters, buffers, moments, steps)


def build(
    name: str,
    clients: int | None = None,
    precision: str = "bf16",
    optimiser: Optimiser = MOMENTUM,
    sizes: list[int] | None = None,
) -> FoldedStep:
    """A step over random images with its buffers filled."""
    torch.manual_seed(0)
    goal = GOALS[name]
    clients, model = clients or goal.clients, goal.make()
    front, back = model.slice(1, goal.v), model.slice(goal.v + 1, model.depth)
    shape = activation_shapes(model)[goal.v - 1]
    front.add_module("head", build_head(model.head, shape, 10))
    keys = torch.arange(clients, device="cuda")
    step = FoldedStep(
        [stacked(part, clients, optimiser) for part in (front, back)],
        optimiser,
        image_shape=model.input_shape,
        batch=BATCH,
        precision=precision,
        tap=goal.v,
        clock=Clock(keys, torch.zeros_like(keys)),
    )
    generator = torch.Generator("cuda").manual_seed(2)
    step.images.copy_(torch.randn(step.images.shape, device="cuda", generator=generator))
    step.labels.copy_(torch.randint(0, 10, (clients, BATCH), device="cuda", generator=generator))
    step.sizes.copy_(torch.tensor(sizes or [BATCH] * clients, dtype=torch.int32))
    return step


def chains(step: FoldedStep) -> list[Chain]:
    return [runner.chain for runner in step._runners]


def gradients(step: FoldedStep) -> dict[str, Tensor]:
    """The gradients of one step, and the buffers after it."""
    seen: dict[str, Tensor] = {}
    course = Together([step])
    course.compile()
    plain = step._gradients

    def watched(*given: Any) -> tuple[dict[str, Tensor], Tensor | None]:
        gradients, tap = plain(*given)
        seen.update({key: value.clone() for key, value in gradients.items()})
        return gradients, tap

    step._gradients = watched
    course.run()
    for chain in chains(step):
        seen |= {key: value.float() for key, value in chain.buffers.items()}
    return seen | {"losses": step.losses}


def autocast(name: str, enabled: bool) -> dict[str, Tensor]:
    """Client 0's gradients from ordinary modules, dropout aside."""
    step = build(name, 3, "fp32")
    values = step.images[:, :, :, 0].permute(0, 3, 1, 2)
    found: dict[str, Tensor] = {}
    for chain in chains(step):
        module = copy.deepcopy(chain.module).cuda().train()
        own = {key: value[0] for key, value in chain.parameters.items()}
        module.load_state_dict(own, strict=False)
        tapped = values
        with torch.enable_grad(), torch.autocast("cuda", torch.bfloat16, enabled=enabled):
            for position, layer in enumerate(module, start=1):
                values = layer(values)
                if position == GOALS[name].v:
                    tapped = values.detach()
            loss = functional.cross_entropy(values, step.labels[0])
        loss.backward()
        found |= {key: value.grad for key, value in module.named_parameters()}
        values = tapped
    return found


def distances(got: Mapping[str, Tensor], want: Mapping[str, Tensor]) -> str:
    """Relative errors by tensor; those that are zero but for rounding left out."""
    errors = {
        key: float((got[key] - value).norm() / value.norm())
        for key, value in want.items()
        if value.norm() > 1e-5 * value.numel() ** 0.5
    }
    worst = max(errors, key=lambda key: errors[key])
    return f"median {median(errors.values()):.1e}, worst {errors[worst]:.1e} ({worst})"


def check(names: list[str]) -> None:
    PRECISIONS["kernels32"] = Precision(torch.float32, kernels=True)
    for name in names:
        want = gradients(build(name, 3, "fp32", sizes=RAGGED))
        for precision in ("kernels32", "bf16"):
            got = gradients(build(name, 3, precision, sizes=RAGGED))
            again = gradients(build(name, 3, precision, sizes=RAGGED))
            same = all(torch.equal(value, again[key]) for key, value in got.items())
            still = not any(value[2].any() for key, value in got.items() if "running" not in key)
            print(f"check {name} {precision}: {distances(got, want)}; two runs equal: {same};"
                  f" idle client gets nothing: {still}", flush=True)  # fmt: skip
        if name == "alexnet":
            continue  # its dropout would differ
        full = {key: value[0] for key, value in gradients(build(name, 3, "fp32")).items()}
        bf16 = {key: value[0] for key, value in gradients(build(name, 3)).items()}
        with rounding(PRECISIONS["fp32"]):
            plain, rounded = autocast(name, enabled=False), autocast(name, enabled=True)
        shared = {key: full[key] for key in plain}
        print(f"check {name} one client: fp32 against modules {distances(shared, plain)};"
              f" bf16 {distances(bf16, shared)}; torch autocast {distances(rounded, plain)}",
              flush=True)  # fmt: skip


def graph(names: list[str]) -> None:
    """Two Adam steps replayed from a graph leave exactly the state of two steps run one by one."""
    for name in names:
        eager, replayed = (build(name, 3, "bf16", Optimiser("adam"), RAGGED) for _ in range(2))
        one_by_one, recorded = Together([eager]), Together([replayed])
        one_by_one.compile()
        recorded.capture()
        for _ in range(2):
            one_by_one.run()
            recorded.run()
        same = torch.equal(eager.losses, replayed.losses)
        for ours, theirs in zip(chains(eager), chains(replayed), strict=True):
            for kind in ("parameters", "buffers", "steps"):
                left, right = getattr(ours, kind), getattr(theirs, kind)
                same &= all(torch.equal(value, right[key]) for key, value in left.items())
        counts = next(iter(chains(replayed)[0].steps.values())).tolist()
        print(f"graph {name}: equal {same}; steps {counts}", flush=True)


def spent(action: Callable[[], None], repeats: int) -> float:
    """Milliseconds of one action."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        action()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / repeats


def clock(names: list[str], precisions: list[str]) -> None:
    rows = []
    for name in names:
        goal = GOALS[name]
        for precision in precisions:
            for label, optimiser in (("momentum", MOMENTUM), ("plain", SGD)):
                torch.cuda.reset_peak_memory_stats()
                course = Together([build(name, precision=precision, optimiser=optimiser)])
                torch.cuda.synchronize()
                begin = time.perf_counter()
                course.capture()
                course.run()
                torch.cuda.synchronize()
                start = time.perf_counter() - begin
                times = [spent(course.run, 1) for _ in range(14)][2:]
                ms = median(times)
                rate = goal.clients * BATCH / ms * 1000
                gib = torch.cuda.max_memory_reserved() / 2**30
                rows.append((name, precision, label, times, gib, start))
                print(f"time {name:9} {precision} {label:8} {ms:6.2f} ms ({min(times):.2f}-"
                      f"{max(times):.2f}), {goal.roof / ms:.0%} of the bf16 roof, {rate:.0f}"
                      f" samples/s, x{rate / goal.naive:.1f} naive, {gib:.1f} GiB,"
                      f" first step after {start:.1f} s", flush=True)  # fmt: skip
                del course
                torch.cuda.empty_cache()
    (OUT / "times.json").write_text(json.dumps(rows))


def profile(names: list[str]) -> None:
    found = {}
    for name in names:
        course = Together([build(name)])
        course.capture()
        course.run()
        torch.cuda.synchronize()
        with recording(activities=[ProfilerActivity.CUDA]) as record:
            course.run()
            torch.cuda.synchronize()
        path = OUT / "trace.json"
        record.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
        path.unlink()
        kernels = [event for event in events if event.get("cat") == "kernel"]
        kernels.sort(key=lambda event: event["ts"])
        found[name] = [(event["name"], event["dur"], event["args"]["grid"]) for event in kernels]
        totals: dict[str, list[float]] = defaultdict(list)
        for kernel, duration, _ in found[name]:
            totals[kernel[:60]].append(duration / 1000)
        print(f"profile {name}: {sum(map(sum, totals.values())):.2f} ms, {len(kernels)} kernels")
        for kernel, times in sorted(totals.items(), key=lambda item: -sum(item[1]))[:12]:
            print(f"   {sum(times):7.3f} ms {len(times):4d} x {kernel}", flush=True)
        del course
        torch.cuda.empty_cache()
    (OUT / "profile.json").write_text(json.dumps(found))


PRODUCTS = [
    Blocks(*row)
    for row in (
        (128, 128, 64, 8, 3), (128, 128, 64, 4, 3), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3),
        (128, 64, 64, 4, 3), (128, 64, 64, 4, 4), (256, 64, 64, 4, 3), (64, 128, 64, 4, 4),
        (64, 64, 64, 4, 4), (128, 128, 32, 8, 5), (128, 64, 32, 4, 4), (128, 32, 32, 4, 4),
    )
]  # fmt: skip
WEIGHTS = [
    Blocks(*row)
    for row in (
        (128, 128, 64, 8, 3), (128, 128, 64, 4, 3), (128, 128, 32, 4, 4), (64, 128, 64, 4, 4),
        (128, 64, 64, 4, 4), (64, 64, 64, 4, 4), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3),
        (64, 64, 128, 4, 3), (64, 32, 64, 4, 4), (32, 16, 128, 4, 3),
    )
]  # fmt: skip


class Product(NamedTuple):
    """One product of a step: the function that makes it and what it is given."""

    kind: str
    first: torch.Size
    second: torch.Size
    geometry: Geometry
    shape: torch.Size


def products(name: str) -> Counter[Product]:
    """Every distinct product of a model, and how often it is made."""
    seen: Counter[Product] = Counter()
    real = convolution.forward, convolution.backward_input, convolution.backward_weight

    def forward(inputs: Tensor, shadow: Tensor, geometry: Geometry) -> Tensor:
        result = real[0](inputs, shadow, geometry)
        seen[Product("forward", inputs.shape, shadow.shape, geometry, result.shape)] += 1
        return result

    def backward_input(
        gradient: Tensor, shadow: Tensor, geometry: Geometry, shape: torch.Size, *_: object
    ) -> Tensor:
        seen[Product("input", gradient.shape, shadow.shape, geometry, shape)] += 1
        return real[1](gradient, shadow, geometry, shape)

    def backward_weight(
        inputs: Tensor, gradient: Tensor, shape: torch.Size, geometry: Geometry
    ) -> Tensor:
        seen[Product("weight", inputs.shape, gradient.shape, geometry, shape)] += 1
        return real[2](inputs, gradient, shape, geometry)

    convolution.forward = forward
    convolution.backward_input, convolution.backward_weight = backward_input, backward_weight
    with compiling(os.cpu_count() or 1):
        Together([build(name)]).run()
    convolution.forward, convolution.backward_input, convolution.backward_weight = real
    return seen


def candidates(product: Product) -> Iterator[tuple[str, Callable[[], None]]]:
    """Ways to make one product; while an action runs, the tables give its own block sizes."""
    first, second = (torch.randn(size, device="cuda").bfloat16() for size in product[1:3])
    weight = product.kind == "weight"
    wide = product.shape[3] if weight else product.shape[4]
    high = product.shape[1] if weight else product.shape[0] * product.shape[1] * product.shape[2]
    result = torch.empty(product.shape, device="cuda", dtype=torch.bfloat16)
    _, _, taps, kept = product.shape if weight else product.second
    transposed = product.kind == "input"
    strides = (1, kept, taps * kept) if transposed else (taps * kept, kept, 1)
    for blocks in WEIGHTS if weight else PRODUCTS:
        if blocks.cols > max(16, 2 * wide - 1) or blocks.rows > max(16, 2 * high - 1):
            continue
        for parts in (1, 2, 4, 8) if weight else (1,):

            def action(blocks: Blocks = blocks, parts: int = parts) -> None:
                real = convolution.for_convolve, convolution.for_weigh, convolution.splits
                convolution.for_convolve = convolution.for_weigh = lambda *_: blocks
                convolution.splits = lambda *_: parts
                if weight:
                    convolution.backward_weight(first, second, product.shape, product.geometry)
                else:
                    convolution._product(
                        first, second, result, product.geometry, strides, transposed=transposed
                    )
                convolution.for_convolve, convolution.for_weigh, convolution.splits = real

            label = f"{blocks.rows},{blocks.cols},{blocks.depth},{blocks.warps},{blocks.stages}"
            yield f"{label}/{parts}", action


def tune(names: list[str]) -> None:
    for name in names:
        found = products(name)
        with compiling(os.cpu_count() or 1):
            for product in found:
                for _, action in candidates(product):
                    action()
        for product, times in found.items():
            results = {}
            for label, action in candidates(product):
                action()
                torch.cuda.synchronize()
                recorded = torch.cuda.CUDAGraph()
                with torch.cuda.graph(recorded):
                    action()
                spent(recorded.replay, 2)
                results[label] = spent(recorded.replay, 5)
            torch.cuda.empty_cache()
            best = sorted(results.items(), key=lambda item: item[1])[:4]
            shown = "; ".join(f"{label} {ms:.3f}" for label, ms in best)
            print(f"tune {name} {product.kind} {tuple(product.first)} -> {tuple(product.shape)}"
                  f" x{times}: {shown}", flush=True)  # fmt: skip


def main() -> None:
    asked = sys.argv[1:] or ["check", "graph", "time"]
    names = [name for name in GOALS if name in asked] or list(GOALS)
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    for word, action in (("check", check), ("graph", graph), ("profile", profile), ("tune", tune)):
        if word in asked:
            action(names)
    if "time" in asked:
        clock(names, [precision for precision in PRECISIONS if precision in asked] or ["bf16"])


if __name__ == "__main__":
    with torch.no_grad():
        main()
