from tiercut.models.resnet import resnet101


def test_resnet101_has_exactly_as_many_parameters_as_specified(traced):
    assert traced("resnet101").parameters == 42_512_970


def test_work_totals_as_specified(traced):
    assert round(traced("resnet101").flops.sum() / 2e6) == 2510


def test_activations_per_layer_are_as_specified(elements):
    stages = [262144] * 3 + [131072] * 4 + [65536] * 23 + [32768] * 3
    assert elements("resnet101") == [65536, *stages, 10]


def test_a_residual_block_is_one_layer(traced):
    names = [layer.name for layer in traced("resnet101").layers]
    assert len(names) == 35
    assert names[:5] == ["stem", "block1_1", "block1_2", "block1_3", "block2_1"]
    assert names[-2:] == ["block4_3", "fc"]


def test_its_default_head_is_pooled_because_its_activations_are_large(traced):
    assert resnet101().head == "pooled"
    assert traced("resnet101").heads[1].weight_bytes == 4 * (256 * 10 + 10)


def test_the_number_of_classes_can_be_chosen():
    model = resnet101(classes=3)
    assert model(model.random_input(batch=2)).shape == (2, 3)
