"""A convolution's input as one matrix: the map, its address, its guards, and what may be read at once."""

from imbrex.index.map import Dim
from imbrex.index.query import linear, pointer_step, vector_width
from imbrex.view.conv.implicit_gemm import Convolution, forward


def dims(**sizes: int) -> tuple[Dim, ...]:
    return tuple(Dim(name, size) for name, size in sizes.items())


conv = Convolution(
    filter=dims(k=64, c=16, y=3, x=3),
    input=dims(n=1, c=16, hi=28, wi=28),
    output=dims(n=1, k=64, ho=28, wo=28),
    strides=(1, 1),
    dilations=(1, 1),
    padding=((1, 1), (1, 1)),
)
b = forward(conv).b
print(b)

address, guards = linear(b)
print("address   ", address)
for guard in guards:
    print("guard     ", f"0 <= {guard.index} < {guard.size}")
print("at once   ", vector_width(b, "gemmN"), "along gemmN: the padding splits every longer run")
print(
    "one step  ", pointer_step(address, "gemmK", 144, by=9), "elements, when gemmK moves by a whole channel"
)

# Without padding, and with the channels last, the same question has another answer.
plain = Convolution(
    filter=dims(k=64, y=1, x=1, c=16),
    input=dims(n=1, hi=28, wi=28, c=16),
    output=dims(n=1, ho=28, wo=28, k=64),
    strides=(1, 1),
    dilations=(1, 1),
    padding=((0, 0), (0, 0)),
)
print(
    "1x1, NHWC ", linear(forward(plain).b)[0], "and", vector_width(forward(plain).b, "gemmK"), "along gemmK"
)
