"""Models by name: the shipped ones, and a user's own as `package.module:factory`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tiercut.errors import InputError, nearest
from tiercut.models.alexnet import alexnet
from tiercut.models.layered import LayeredModel, checked_shape
from tiercut.models.own import build_own
from tiercut.models.resnet import resnet101
from tiercut.models.small import small
from tiercut.models.vgg import vgg11, vgg19

DEFAULT_CLASSES: Final = 10

_SHIPPED: Final[dict[str, Callable[[int], LayeredModel]]] = {
    "alexnet": alexnet,
    "vgg11": vgg11,
    "vgg19": vgg19,
    "resnet101": resnet101,
    "small": small,
}


def build_model(
    spec: str, *, classes: int | None = None, input_shape: Sequence[int] | None = None
) -> LayeredModel:
    """Build the model that `spec` names, a shipped one or a user's `package.module:factory`.

    Shipped models have ten classes where `classes` says nothing, and an input shape of their own;
    for a user's model see `tiercut.models.own`.
    """
    if classes is not None and classes < 2:
        raise InputError(f"classes is {classes}; a classifier needs at least 2")
    if ":" in spec:
        return build_own(spec, classes, input_shape)
    if spec in _SHIPPED:
        return _build_shipped(spec, classes, input_shape)
    raise InputError(
        f"there is no model {spec!r}{nearest(spec, _SHIPPED)}; expected one of"
        f" {', '.join(_SHIPPED)}, or a model of your own written as package.module:factory"
    )


def _build_shipped(
    name: str, classes: int | None, input_shape: Sequence[int] | None
) -> LayeredModel:
    model = _SHIPPED[name](DEFAULT_CLASSES if classes is None else classes)
    if input_shape is not None and checked_shape(name, input_shape) != model.input_shape:
        raise InputError(
            f"{name} takes samples of shape {model.input_shape}, not {tuple(input_shape)}; leave"
            f" input_shape out, or write a model of your own as package.module:factory"
        )
    return model
