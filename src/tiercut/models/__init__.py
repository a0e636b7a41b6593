"""Models as sequences of layers, and what each layer costs.

`profile` is torch-free and is all that planning needs; `layered`, the zoo and `trace` need torch.
"""
