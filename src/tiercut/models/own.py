"""A user's own model, named as `package.module:factory`.

The factory is a function in a module that can be imported from the working directory. It returns an
nn.Sequential, a list of modules, or a LayeredModel, and is given `classes` if it has a parameter of
that name. The shape of one sample is said by the caller, or else by an attribute `input_shape` of
the factory or of what it returns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from torch import nn

from tiercut.errors import InputError
from tiercut.models.layered import LayeredModel, checked_shape
from tiercut.models.trace import count_classes
from tiercut.own import find_own, show_problem, working_directory_importable

FEWEST_LAYERS: Final = 4
"""With h >= 2 and v >= 3, the first layer that can be left to the server is the fourth."""

Factory = Callable[..., Any]


def build_own(spec: str, classes: int | None, input_shape: Sequence[int] | None) -> LayeredModel:
    """Build the model that the factory named by `spec` makes, ready to be cut in three."""
    factory = _find_factory(spec)
    with working_directory_importable():  # for what the factory imports when it is called
        made = _call_factory(spec, factory, classes)
    _refuse_other_types(spec, made)
    model = _as_layered(spec, made, _find_input_shape(spec, input_shape, factory, made))
    if model.depth < FEWEST_LAYERS:
        raise InputError(
            f"{spec} has {model.depth} layers; a model cut in three needs at least {FEWEST_LAYERS}:"
            f" split its layers further"
        )
    if classes is not None and (outputs := count_classes(model)) != classes:
        raise InputError(
            f"{spec} gives {outputs} scores where {classes} classes are needed; give the factory a"
            f" parameter named classes and use it in the last layer"
        )
    return model


def _find_factory(spec: str) -> Factory:
    factory = find_own(spec, "model", "my_models:make_net")
    # A model can be called too, but with a batch of samples and not to make a model.
    if isinstance(factory, nn.Module) or not callable(factory):
        name, kind = spec.partition(":")[2], type(factory).__name__
        raise InputError(
            f"{spec}: {name} is a {kind}, not a function; name a function that returns the model"
        )
    return factory


def _call_factory(spec: str, factory: Factory, classes: int | None) -> Any:
    try:
        wants_classes = "classes" in inspect.signature(factory).parameters
        return factory(classes=classes) if wants_classes and classes is not None else factory()
    except Exception as problem:
        raise InputError(
            f"{spec}: the factory failed ({show_problem(problem)}); correct it until it returns a"
            f" model when called without arguments"
        ) from problem


def _refuse_other_types(spec: str, made: Any) -> None:
    if isinstance(made, nn.Sequential | LayeredModel):
        return
    if isinstance(made, list | tuple) and all(isinstance(layer, nn.Module) for layer in made):
        return
    raise InputError(
        f"{spec}: the factory returned a {type(made).__name__}; it must return an nn.Sequential, a"
        f" list of modules, or a LayeredModel"
    )


def _find_input_shape(
    spec: str, given: Sequence[int] | None, factory: Factory, made: Any
) -> tuple[int, ...]:
    known = (given, getattr(factory, "input_shape", None), getattr(made, "input_shape", None))
    for shape in known:
        if shape is not None:
            return checked_shape(spec, shape)
    raise InputError(
        f"{spec}: the shape of one sample is unknown; give input_shape, such as (3, 32, 32), or set"
        f" it as an attribute of the factory: factory.input_shape = (3, 32, 32)"
    )


def _as_layered(spec: str, made: Any, input_shape: tuple[int, ...]) -> LayeredModel:
    if isinstance(made, LayeredModel):
        made.input_shape = input_shape
        return made
    return LayeredModel.from_modules(made, name=spec, input_shape=input_shape)
