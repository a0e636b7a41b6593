"""A user's own model, from a file in the working directory."""

import sys
from contextlib import suppress
from itertools import count
from textwrap import dedent

import pytest

from tiercut.errors import InputError
from tiercut.models.zoo import build_model

LAYERS = "nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3)"

_numbers = count()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module into the working directory under a name that was never imported before."""
    monkeypatch.chdir(tmp_path)

    def write(source):
        name = f"own_model_{next(_numbers)}"
        text = "from torch import nn\n" + dedent(source).format(layers=LAYERS)
        (tmp_path / f"{name}.py").write_text(text)
        return name

    return write


def refusal(spec, **options):
    with pytest.raises(InputError) as caught:
        build_model(spec, **options)
    return str(caught.value)


@pytest.mark.parametrize("made", ["nn.Sequential({layers})", "[{layers}]", "({layers})"])
def test_a_factory_may_return_a_sequential_or_a_list_of_modules(module, made):
    spec = module(f"def make(): return {made}") + ":make"
    model = build_model(spec, input_shape=(3, 2, 2))
    assert (model.name, model.depth, model.input_shape) == (spec, 4, (3, 2, 2))
    assert model(model.random_input(batch=2)).shape == (2, 3)


def test_a_factory_may_return_a_layered_model_with_everything_in_it(module):
    name = module("""
        from tiercut.models.layered import LayeredModel
        def make():
            return LayeredModel.from_modules(
                [{layers}], name="mine", input_shape=(12,), head="pooled")
    """)
    model = build_model(f"{name}:make")
    assert (model.name, model.input_shape, model.head) == ("mine", (12,), "pooled")


def test_a_class_can_be_the_factory(module):
    name = module("""
        class Net(nn.Sequential):
            input_shape = (12,)
            def __init__(self):
                super().__init__({layers})
    """)
    assert build_model(f"{name}:Net").input_shape == (12,)


def test_the_input_shape_may_be_an_attribute_of_the_factory(module):
    name = module("""
        def make(): return [{layers}]
        make.input_shape = [3, 2, 2]
    """)
    assert build_model(f"{name}:make").input_shape == (3, 2, 2)


def test_the_input_shape_may_be_an_attribute_of_the_returned_module(module):
    name = module("""
        def make():
            model = nn.Sequential({layers})
            model.input_shape = (3, 2, 2)
            return model
    """)
    assert build_model(f"{name}:make").input_shape == (3, 2, 2)


def test_the_callers_input_shape_comes_first(module):
    name = module("""
        def make(): return [{layers}]
        make.input_shape = (3, 2, 2)
    """)
    assert build_model(f"{name}:make", input_shape=(12,)).input_shape == (12,)


def test_a_factory_with_a_parameter_classes_is_given_it(module):
    name = module("""
        def make(classes=3):
            return nn.Sequential(nn.Flatten(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, classes))
        make.input_shape = (12,)
    """)
    model = build_model(f"{name}:make", classes=7)
    assert model(model.random_input(batch=2)).shape == (2, 7)
    assert build_model(f"{name}:make").layers.layer4.out_features == 3


def test_a_model_with_another_number_of_outputs_than_classes_is_refused(module):
    spec = module("def make(): return [{layers}]") + ":make"
    message = refusal(spec, classes=10, input_shape=(12,))
    assert "gives 3 scores where 10 classes are needed" in message
    assert "parameter named classes" in message


def test_a_module_inside_a_package_is_found(tmp_path, module):
    name = module("def make(): return [{layers}]")
    package = tmp_path / f"package_{name}"
    package.mkdir()
    (tmp_path / f"{name}.py").rename(package / "nets.py")
    assert build_model(f"{package.name}.nets:make", input_shape=(12,)).depth == 4


@pytest.mark.parametrize("source", ["def make(): return [{layers}]", "1 / 0"])
def test_the_import_path_is_left_as_it_was(module, source):
    name, before = module(source), list(sys.path)
    with suppress(InputError):
        build_model(f"{name}:make", input_shape=(12,))
    assert sys.path == before


def test_an_unknown_input_shape_is_refused_with_both_remedies(module):
    message = refusal(module("def make(): return [{layers}]") + ":make")
    assert "give input_shape" in message
    assert "factory.input_shape = (3, 32, 32)" in message


@pytest.mark.parametrize("spec", ["./nets.py:make", "nets:", ":make", "a:b:c", "nets:make()"])
def test_a_spec_that_names_no_function_is_refused(spec):
    assert f"{spec!r} is no model; write your own as package.module:name" in refusal(spec)


def test_a_module_that_does_not_exist_is_refused():
    message = refusal("no_such_module_anywhere:make")
    assert "cannot be imported (ModuleNotFoundError: No module named" in message
    assert "run tiercut in the folder that holds it" in message


@pytest.mark.parametrize(
    ("source", "reason"), [("1 / 0", "ZeroDivisionError"), ("def make(:", "SyntaxError")]
)
def test_a_module_that_fails_on_import_is_refused(module, source, reason):
    assert f"cannot be imported ({reason}" in refusal(module(source) + ":make")


def test_a_missing_factory_is_refused_with_the_nearest_spelling(module):
    message = refusal(module("def make_net(): return [{layers}]") + ":make_nets")
    assert "has no 'make_nets' (did you mean 'make_net'?)" in message


@pytest.mark.parametrize(
    ("value", "kind"), [("3", "int"), ("nn.Sequential({layers})", "Sequential")]
)
def test_a_factory_that_is_no_function_is_refused(module, value, kind):
    assert f"make is a {kind}, not a function" in refusal(module(f"make = {value}") + ":make")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def make(): raise ValueError('no luck')", "ValueError: no luck"),
        ("def make(width): return [{layers}]", "TypeError"),
    ],
)
def test_a_factory_that_fails_is_refused(module, source, reason):
    message = refusal(module(source) + ":make")
    assert "the factory failed" in message
    assert reason in message


@pytest.mark.parametrize(
    ("made", "kind"), [("nn.Linear(2, 2)", "Linear"), ("None", "NoneType"), ("[1, 2]", "list")]
)
def test_a_factory_that_returns_something_else_is_refused(module, made, kind):
    message = refusal(module(f"def make(): return {made}") + ":make")
    assert f"returned a {kind}; it must return an nn.Sequential" in message


def test_a_model_of_fewer_than_four_layers_is_refused(module):
    spec = module("def make(): return [nn.Flatten(), nn.Linear(12, 8), nn.Linear(8, 3)]") + ":make"
    assert "has 3 layers; a model cut in three needs at least 4" in refusal(spec, input_shape=(12,))
