"""Votes in other people's training loops: each file is imported by name, and needs what it adapts to.

``dissensus.adapters.torch`` for PyTorch's Dataset, Sampler and DataLoader; ``dissensus.adapters.hugging_face`` for the
Trainer of Hugging Face.
"""
