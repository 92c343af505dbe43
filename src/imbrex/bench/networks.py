"""Networks of PyTorch whose layers `benchmarks/models.py` and the tests replace: ResNet-18 and ResNet-50,
blocks of a vision transformer and of a language model, a small U-Net, and a product between elementwise
functions.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
nn: Any = torch.nn
F: Any = nn.functional


class Basic(nn.Module):
    def __init__(self, c: int, k: int, stride: int) -> None:
        nn.Module.__init__(self)
        self.conv1, self.bn1 = nn.Conv2d(c, k, 3, stride, 1, bias=False), nn.BatchNorm2d(k)
        self.conv2, self.bn2 = nn.Conv2d(k, k, 3, 1, 1, bias=False), nn.BatchNorm2d(k)
        self.relu, self.down = nn.ReLU(inplace=True), _down(c, k, stride)

    def forward(self, x: Any) -> Any:
        shortcut = x if self.down is None else self.down(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += shortcut
        return self.relu(y)


class Bottleneck(nn.Module):
    def __init__(self, c: int, k: int, stride: int) -> None:
        nn.Module.__init__(self)
        mid = k // 4
        self.conv1, self.bn1 = nn.Conv2d(c, mid, 1, bias=False), nn.BatchNorm2d(mid)
        self.conv2, self.bn2 = nn.Conv2d(mid, mid, 3, stride, 1, bias=False), nn.BatchNorm2d(mid)
        self.conv3, self.bn3 = nn.Conv2d(mid, k, 1, bias=False), nn.BatchNorm2d(k)
        self.relu, self.down = nn.ReLU(inplace=True), _down(c, k, stride)

    def forward(self, x: Any) -> Any:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        shortcut = x if self.down is None else self.down(x)
        return self.relu(y + shortcut)


def _down(c: int, k: int, stride: int) -> Any:
    if stride == 1 and c == k:
        return None
    return nn.Sequential(nn.Conv2d(c, k, 1, stride, bias=False), nn.BatchNorm2d(k))


class ResNet(nn.Module):
    """block: Basic or Bottleneck.  width: of the first stage; 64 for the paper's."""

    def __init__(self, block: Any, counts: tuple[int, ...], width: int = 64, classes: int = 1000) -> None:
        nn.Module.__init__(self)
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.pool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        c, stages = width, list[Any]()
        for i, count in enumerate(counts):
            k = width * 2**i * (4 if block is Bottleneck else 1)
            blocks = [block(c if j == 0 else k, k, 2 if i and j == 0 else 1) for j in range(count)]
            stages.append(nn.Sequential(*blocks))
            c = k
        self.stages, self.head = nn.Sequential(*stages), nn.Linear(c, classes)

    def forward(self, x: Any) -> Any:
        y = self.stages(self.pool(self.relu(self.bn1(self.conv1(x)))))
        return self.head(y.mean((2, 3)))


def resnet18(width: int = 64, classes: int = 1000) -> Any:
    torch.manual_seed(0)
    return _lively(ResNet(Basic, (2, 2, 2, 2), width, classes))


def resnet50(width: int = 64, classes: int = 1000) -> Any:
    torch.manual_seed(0)
    return _lively(ResNet(Bottleneck, (3, 4, 6, 3), width, classes))


class Transformer(nn.Module):
    """A block of a vision transformer, with its patches.  patch: pixels of one, in each direction."""

    def __init__(self, width: int = 32, heads: int = 2, patch: int = 4) -> None:
        nn.Module.__init__(self)
        self.patches, self.heads = nn.Conv2d(3, width, patch, patch), heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).mT
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.out(y)
        return x + self.mlp(self.norm2(x))


def transformer(width: int = 32, heads: int = 2, patch: int = 4) -> Any:
    torch.manual_seed(0)
    return Transformer(width, heads, patch)


class Decoder(nn.Module):
    """A block of a language model: attention and a gated product, both behind norms, of rows of `width`."""

    def __init__(self, width: int = 64, hidden: int = 128, heads: int = 2) -> None:
        nn.Module.__init__(self)
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(y)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def decoder(width: int = 64, hidden: int = 128, heads: int = 2) -> Any:
    torch.manual_seed(0)
    return Decoder(width, hidden, heads)


class Between(nn.Module):
    """A product between two elementwise functions, which no kernel computes with it."""

    def __init__(self, width: int) -> None:
        nn.Module.__init__(self)
        self.product = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        return torch.cos(self.product(torch.sin(x)))


def between(width: int) -> Any:
    torch.manual_seed(0)
    return Between(width)


class UNet(nn.Module):
    def __init__(self, width: int = 8) -> None:
        nn.Module.__init__(self)
        self.one, self.two = _twice(3, width), _twice(width, 2 * width)
        self.up, self.three = nn.ConvTranspose2d(2 * width, width, 2, 2), _twice(2 * width, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Any) -> Any:
        one = self.one(x)
        two = self.two(F.max_pool2d(one, 2))
        return self.head(self.three(torch.cat((one, self.up(two)), 1)))


def _twice(c: int, k: int) -> Any:
    return nn.Sequential(
        nn.Conv2d(c, k, 3, padding=1), nn.BatchNorm2d(k), nn.SiLU(),
        nn.Conv2d(k, k, 3, padding=1), nn.BatchNorm2d(k), nn.SiLU(),
    )  # fmt: skip


def unet(width: int = 8) -> Any:
    torch.manual_seed(0)
    return _lively(UNet(width))


def _lively(model: Any) -> Any:
    """The model with norms that do something in eval mode."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            with torch.no_grad():
                module.weight.uniform_(0.5, 1.0)
                module.bias.normal_(0, 0.1)
    return model
