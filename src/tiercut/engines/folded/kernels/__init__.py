"""Triton kernels over folded activations. Importing a file here needs Triton.

Activations are [B, H, W, N, C] in memory: one row per position, N clients of C channels each in it.
"""
