"""The weighted means of groups of rows, in place: every value is read once and written once."""
# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201 (Triton compiles these; annotations mean something else to it)

import triton
import triton.language as tl


@triton.jit
def average(
    values_ptr,
    rows_ptr,
    shares_ptr,
    starts_ptr,
    stride,
    columns,
    DOUBLE: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Give the rows of a group their mean; group g has `rows[starts[g] : starts[g + 1]]`."""
    group = tl.program_id(1)
    first, end = tl.load(starts_ptr + group), tl.load(starts_ptr + group + 1)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    kept = column < columns
    mean = tl.zeros((COLUMNS,), tl.float64 if DOUBLE else tl.float32)
    for place in range(first, end):
        share = tl.load(shares_ptr + place).to(mean.dtype)
        row = values_ptr + tl.load(rows_ptr + place) * stride
        mean += share * tl.load(row + column, mask=kept)
    for place in range(first, end):
        row = values_ptr + tl.load(rows_ptr + place) * stride
        tl.store(row + column, mean.to(values_ptr.dtype.element_ty), mask=kept)
