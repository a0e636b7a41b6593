"""Joins bias, BatchNorm, residual add, ReLU and 2x2 max-pool that follow each other into tails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tiercut.engines.folded.instructions import Convolve, Instruction, Plan, Tail


def join_tails(instructions: Sequence[Instruction], results: Sequence[int]) -> Plan:
    """Join tails that follow each other in the order in which a tail runs its parts.

    `results` are the chain's output and, where it is tapped, the tap; both stay values.
    """
    used = Counter(value for step in instructions for value in step.inputs)
    used.update(results)
    makers: dict[int, Tail] = {}
    kept: dict[int, Instruction] = {}
    alias: dict[int, int] = {}
    for given in instructions:
        inputs = tuple(alias.get(value, value) for value in given.inputs)
        step = replace(given, inputs=inputs)
        if isinstance(step, Tail):
            if not any(step.parts):
                alias[step.output] = inputs[0]
                used[inputs[0]] += used[step.output] - 1
                continue
            for position in range(len(step.inputs)):
                # An add may take either of its operands as the one that it continues.
                front = makers.get(step.inputs[position])
                others = step.inputs[:position] + step.inputs[position + 1 :]
                if front and used[front.output] == 1 and _joins(front, step):
                    del kept[front.output], makers[front.output]
                    step = _join(front, step, others)
                    break
            makers[step.output] = step
        kept[step.output] = step
    final = (alias.get(value, value) for value in results)
    return Plan(tuple(_forked(step, kept) for step in kept.values()), *final)


def _forked(step: Instruction, made: Mapping[int, Instruction]) -> Instruction:
    """Find the product that a tail's residual goes around, if there is one."""
    if not (isinstance(step, Tail) and step.residual and step.relu and step.norm):
        return step
    value, residual = step.inputs
    while value in made:
        maker = made[value]
        if isinstance(maker, Convolve) and maker.inputs[0] == residual:
            return replace(step, around=value) if maker.geometry.pointwise else step
        value = maker.inputs[0]
    return step


def _joins(front: Tail, step: Tail) -> bool:
    if (front.residual and step.pool) or not any(front.parts):
        return False
    last = max(position for position, part in enumerate(front.parts) if part)
    return last < min(position for position, part in enumerate(step.parts) if part)


def _join(front: Tail, step: Tail, others: tuple[int, ...]) -> Tail:
    return Tail(
        front.inputs + others,
        step.output,
        bias=front.bias,
        norm=front.norm or step.norm,
        residual=front.residual or step.residual,
        relu=front.relu or step.relu,
        pool=step.pool,
    )
