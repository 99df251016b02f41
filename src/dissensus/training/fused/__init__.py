"""Kernels of our own for the CIFAR ResNet-18 on CUDA: the same step, in fewer passes over memory.

Batch-norm, ReLU and the sum of a block are one pass over what the convolutions gave; on Hopper GPUs these also compute
the sums that batch-norm needs, forward and backward, while their results are still in registers.

    norm.py     batch-norm, ReLU and residual sum, forward and backward (Triton)
    stem.py     the first convolution, straight from bytes (Triton)
    head.py     pooling, the last layer and the loss (Triton)
    update.py   SGD on all parameters at once (Triton)
    conv.py     3x3 convolutions and their gradients, with the sums of batch-norm (Gluon, on Hopper)
    strided.py  those of stride 2
    hopper.py   whether those can be used
    weights.py  all parameters in one piece of memory
    resnet.py   the learner that puts them together

Nothing here is imported unless a model trains with it; triton comes with the CUDA builds of torch.
"""
