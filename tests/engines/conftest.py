"""Mends the interpreter that runs Triton's kernels where there is no GPU."""

from __future__ import annotations

import importlib.util


def _mend_interpreter() -> None:
    """Triton 3.6 counts loops with int() of an array of one value, which NumPy 2.4 refuses."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def mended(tensor, scope) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = mended


if importlib.util.find_spec("triton"):
    _mend_interpreter()
