from tiercut.models.small import small


def test_small_has_the_parameters_its_docstring_promises(traced):
    assert traced("small").parameters == 34_522


def test_small_has_seven_readable_layers():
    assert small().layer_names == ("conv1", "conv2", "conv3", "conv4", "conv5", "fc1", "fc2")


def test_small_costs_less_than_a_hundredth_of_alexnet(traced):
    assert traced("small").flops.sum() < traced("alexnet").flops.sum() / 100


def test_the_number_of_classes_can_be_chosen():
    model = small(classes=2)
    assert model(model.random_input(batch=3)).shape == (3, 2)
