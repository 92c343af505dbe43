"""BlockCopy: copies tile the block exactly; no vector is wider than memory, slice or machine allow."""

import itertools

import numpy as np
import pytest

from imbrex.config.context import Access
from imbrex.config.general.copy import BlockCopy

BLOCKS = list(itertools.product((4, 8, 16, 24), (32, 64, 128), (64, 128, 256), (4, 2, 1)))
ACCESSES = [Access((k, d), (float(k), float(d))) for k in (1, 2, 4, 16) for d in (1, 2, 4, 8)]


def covered(copy: BlockCopy) -> np.ndarray:
    """How often each element of the block is copied, from the lengths alone."""
    (slice_k, slice_d), (cluster_k, cluster_d) = copy.slice_lengths, copy.cluster_lengths
    count = np.zeros((copy.k_per_block, copy.d_per_block), dtype=int)
    for tk, td in itertools.product(range(cluster_k), range(cluster_d)):
        count[tk * slice_k : (tk + 1) * slice_k, td * slice_d : (td + 1) * slice_d] += 1
    return count


def test_every_exact_copy_tiles_its_block_once() -> None:
    exact = 0
    for (k, d, threads, size), access in itertools.product(BLOCKS, ACCESSES):
        copy = BlockCopy(k, d, 1, threads, access, size)
        if not copy.is_exact:
            continue
        exact += 1
        (slice_k, slice_d), (cluster_k, cluster_d) = copy.slice_lengths, copy.cluster_lengths
        assert (slice_k * cluster_k, slice_d * cluster_d) == (k, d), copy
        assert cluster_k * cluster_d == threads, copy
        assert (covered(copy) == 1).all(), copy
    assert exact > 1000


def test_every_packed_copy_tiles_its_block_once() -> None:
    for k, d, threads, kpack in itertools.product((1, 2, 4, 8), (16, 64, 128), (64, 256), (4, 8)):
        for access in ACCESSES:
            copy = BlockCopy(k * kpack, d, kpack, threads, access, 2)
            if copy.is_exact:
                assert (covered(copy) == 1).all(), copy
                assert copy.cluster_lengths[0] * copy.cluster_lengths[1] == threads, copy


def test_vectors_divide_their_slice_and_what_memory_allows() -> None:
    for (k, d, threads, size), access in itertools.product(BLOCKS, ACCESSES):
        copy = BlockCopy(k, d, 1, threads, access, size)
        if copy.is_exact:
            assert copy.slice_lengths[copy.read_dim] % copy.data_per_read == 0, copy
            assert access.vector[copy.read_dim] % copy.data_per_read == 0, copy
            assert copy.slice_lengths[1] % copy.data_per_write == 0, copy
            assert max(copy.data_per_read, copy.data_per_write) * size <= 16, copy


@pytest.mark.parametrize(
    ("along_k", "along_d", "read_dim", "per_read", "slices", "clusters", "per_write"),
    [
        (4, 1, 0, 4, (4, 1), (2, 128), 1),  # the seed's A
        (1, 1, 1, 1, (4, 1), (2, 128), 1),  # the seed's B
        (1, 4, 1, 4, (1, 4), (8, 32), 4),
        (4, 4, 1, 4, (1, 4), (8, 32), 4),
        (2, 1, 0, 2, (2, 2), (4, 64), 2),
        (1, 2, 1, 2, (2, 2), (4, 64), 2),
    ],
)
def test_slices_of_an_8_by_128_block_of_f32_among_256(
    along_k: int,
    along_d: int,
    read_dim: int,
    per_read: int,
    slices: tuple[int, int],
    clusters: tuple[int, int],
    per_write: int,
) -> None:
    copy = BlockCopy(8, 128, 1, 256, Access((along_k, along_d), (8.0, 8.0)), 4)
    assert (copy.read_dim, copy.data_per_read) == (read_dim, per_read)
    assert (copy.slice_lengths, copy.cluster_lengths, copy.data_per_write) == (slices, clusters, per_write)


def test_a_slice_never_exceeds_its_block() -> None:
    """16 elements a work item read one by one: the plain rule would give slices of 16 along a K of 8."""
    copy = BlockCopy(8, 128, 1, 64, Access(), 4)
    assert copy.per_thread == 16 and copy.slice_lengths == (8, 2) and copy.cluster_lengths == (1, 64)


def test_a_block_smaller_than_its_work_items_is_not_exact() -> None:
    assert not BlockCopy(4, 32, 1, 256, Access(), 4).is_exact
    assert not BlockCopy(3, 50, 1, 64, Access(), 4).is_exact


def test_packs_are_written_whole() -> None:
    """kpack 4 of f32: a work item reads along K inside its pack and writes 16 bytes."""
    copy = BlockCopy(16, 128, 4, 256, Access((4, 1), (64.0, 1.0)), 4)
    assert (copy.read_dim, copy.data_per_read, copy.data_per_write) == (0, 4, 4)
    assert (copy.slice_lengths, copy.cluster_lengths) == ((4, 2), (4, 64))


def test_packs_read_along_d_when_that_is_wider() -> None:
    copy = BlockCopy(16, 128, 4, 256, Access((1, 2), (1.0, 64.0)), 4)
    assert (copy.read_dim, copy.data_per_read, copy.slice_lengths) == (1, 2, (4, 2))
