"""What a header may lack or have wrong, by a line of text, and the kernels that show it."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["MUTANTS", "Mutant"]


class Mutant(NamedTuple):
    """case: of CASES.  file: the end of its name.  becomes: nothing, where a line is dropped.  said: a part
    of the fault, where every order of warps has the same.
    """

    case: str
    file: str
    line: str
    becomes: str = ""
    said: str = ""


TWO: Final = "two consumers, epilogue"
FLIGHT: Final = "one consumer, a step in flight"
HELD: Final = "A in registers"
MUTANTS: Final = {
    # pipeline.h, split_tile.h: the ring
    "a stage is read before it is full": Mutant(
        TWO,
        "split_tile.h",
        "wait(at.full(here.stage), here.round);\n      if constexpr (P::has_lanes)",
        "if constexpr (P::has_lanes)",
        "multiplies",
    ),
    "a stage is filled before it is empty": Mutant(
        TWO, "pipeline.h", "wait(at.empty(here.stage), here.round ^ 1);", ""
    ),
    "a stage is released while it is read": Mutant(TWO, "split_tile.h", "wait_products<in_flight>();", ""),
    "the wrong stage is released": Mutant(
        FLIGHT,
        "split_tile.h",
        "release(at, in_flight ? before : here.stage, rank)",
        "release(at, here.stage, rank)",
    ),
    "one more may be in flight": Mutant(
        FLIGHT, "split_tile.h", "wait_products<in_flight>();", "wait_products<in_flight + 1>();"
    ),
    "a stage is never released": Mutant(
        FLIGHT,
        "split_tile.h",
        "if (in_flight == 0 || step > w.first) release(at, in_flight ? before : here.stage, rank);",
        "",
        "nobody can go on",
    ),
    # held_tile.h
    "rows are taken before they come": Mutant(
        HELD, "held_tile.h", "wait(at.full(here.stage), here.round);", "", "reads"
    ),
    "registers are filled while the matrix unit reads them": Mutant(
        HELD, "held_tile.h", "wait_products<halves - 1>();", "wait_products<halves>();"
    ),
    "a stage is released while its second half is multiplied": Mutant(
        HELD, "held_tile.h", "if (half == halves - 1 && step > w.first)", "if (half == 0 && step > w.first)"
    ),
    "the last stage is released while it is multiplied": Mutant(
        HELD, "held_tile.h", "  wait_products<0>();\n", ""
    ),
    "a lane takes other rows": Mutant(
        HELD, "held_tile.h", "P::held_byte(warpgroup_lane(), i)", "P::held_byte(warpgroup_lane(), i ^ 1)"
    ),
    "turns are never over where A is in registers": Mutant(
        "A in registers, pingpong, 128 rows",
        "held_tile.h",
        "if (step + 1 == w.end)",
        "if (step + 1 > w.end)",
        "nobody can go on",
    ),
    # split_tile.h: what the lanes of a warpgroup ask of the matrix unit
    "a lane does not add": Mutant(
        TWO,
        "split_tile.h",
        "              adds || !P::begins(k));",
        "              (adds || !P::begins(k)) && threadIdx.x % 128 != 77);",
        "lanes of a warpgroup ask for different products",
    ),
    "a lane multiplies other columns": Mutant(
        TWO,
        "split_tile.h",
        "b + (P::b_start(k, column) >> 4),",
        "b + (P::b_start(k, column) >> 4) + (threadIdx.x % 128 == 77),",
        "lanes of a warpgroup ask for different products",
    ),
    "a lane counts its products otherwise": Mutant(
        FLIGHT,
        "split_tile.h",
        "      begin_products();",
        "      if (step == w.first && threadIdx.x % 128 >= 96) end_products();\n      begin_products();",
        "lanes of a warpgroup ask for different products",
    ),
    "bytes are announced that do not come": Mutant(
        TWO,
        "pipeline.h",
        "arrive_expecting(full, P::copied_bytes);",
        "arrive_expecting(full, P::copied_bytes + 16);",
        "16 bytes short",
    ),
    "fewer bytes are announced": Mutant(
        TWO,
        "pipeline.h",
        "arrive_expecting(full, P::copied_bytes);",
        "arrive_expecting(full, P::copied_bytes - 16);",
    ),
    "a reader more is waited for": Mutant(
        TWO,
        "pipeline.h",
        "make_barrier(at.empty(i), readers);",
        "make_barrier(at.empty(i), readers + 1);",
        "nobody can go on",
    ),
    "barriers are used before they are made": Mutant(
        TWO,
        "pipeline.h",
        "meet_cluster();\n  else\n    __syncthreads();",
        "meet_cluster();",
        "there is none",
    ),
    "the copy engine does not know of a barrier": Mutant(
        TWO,
        "pipeline.h",
        "  barriers_made();\n",
        said="no fence.mbarrier_init",
    ),
    "a turn is not waited for": Mutant(
        "pingpong", "split_tile.h", "      wait(at.turn(warpgroup), turn);\n", ""
    ),
    "the last sums are not waited for": Mutant(
        FLIGHT,
        "split_tile.h",
        "  if constexpr (in_flight > 0) {\n    wait_products<0>();",
        "  if constexpr (in_flight > 0) {",
    ),
    "registers are not dealt in eights": Mutant(
        TWO, ".hpp", "consumer_registers = 232", "consumer_registers = 236", "dealt in eights"
    ),
    # addresses.h: who has what
    "barriers alias": Mutant(
        TWO,
        "addresses.h",
        "return memory + P::empty_offset + (first + stage) * 8;",
        "return memory + P::empty_offset - 8 + (first + stage) * 8;",
        "makes a barrier of",
    ),
    "stages overlap": Mutant(
        TWO,
        "addresses.h",
        "return memory + (first + stage) * P::stage_bytes; }",
        "return memory + (first + stage) * (P::stage_bytes - 1024); }",
    ),
    "pieces lie where barriers are": Mutant(
        TWO,
        "addresses.h",
        "return memory + P::pieces_offset + group * 2 * P::piece_bytes; }",
        "return memory + P::full_offset - 128 + group * 2 * P::piece_bytes; }",
    ),
    # store.h: pieces of C
    "a piece is stored without a fence": Mutant(
        TWO,
        "store.h",
        "    written_for_engines();\n",
        "",
        "fence.proxy.async",
    ),
    "a piece is stored before it is whole": Mutant(
        TWO,
        "store.h",
        "    written_for_engines();\n    meet_warpgroup(s.group);\n",
        "    written_for_engines();\n",
        "stores byte",
    ),
    "a piece is written while it is stored": Mutant(
        TWO,
        "store.h",
        "if (leads) wait_stores_read<1>();",
        "if (leads) wait_stores_read<2>();",
        "writes byte",
    ),
    "a piece is stored over another tile's": Mutant(
        TWO,
        "store.h",
        "Out::store(p, memory, w.batch, w.row_tile * P::rows",
        "Out::store(p, memory, w.batch, w.row_tile / 2 * P::rows",
        "stores, too",
    ),
    "a row's sign": Mutant(
        "scaled, in batches",
        "store.h",
        "d[r] = scaled(p, d[r], w.batch, row + P::sum_row(lane, r)",
        "d[r] = scaled(p, d[r], w.batch, row - P::sum_row(lane, r)",
    ),
    "lanes store a piece that is not whole": Mutant(
        "lanes that load",
        "store.h",
        "  } else {\n    meet_warpgroup(s.group);\n",
        "  } else {\n",
        "reads byte",
    ),
    # lanes.h, shared.h: producers that load
    "lanes fill without a fence": Mutant(
        "lanes that copy",
        "split_tile.h",
        "if constexpr (P::has_lanes) written_for_engines();",
        "",
        "fence.proxy.async",
    ),
    "lanes arrive before their copies": Mutant(
        "lanes that copy",
        "pipeline.h",
        "arrive_after_copies(at.full(here.stage));",
        "arrive(at.full(here.stage));",
    ),
    # cluster.h, collect.h
    "only some of a cluster share a tile": Mutant(
        "a cluster's loads",
        "cuda/cluster.h",
        "((1 << columns) - 1)",
        "1",
    ),
    "a neighbour that shares nothing is counted": Mutant(
        "lanes' loads in a cluster that shares none, tile after tile",
        "cuda/cluster.h",
        "shares_a = P::copied_bytes > (P::b_stays ? 0 : P::b_copied_bytes);\n"
        "template <class P> constexpr bool shares_b = P::b_copied_bytes > 0;",
        "shares_a = true;\ntemplate <class P> constexpr bool shares_b = true;",
        "nothing orders the two",
    ),
    "who shares only A is counted of B, too": Mutant(
        "a cluster of two rows and columns that shares A, tile after tile",
        "cuda/cluster.h",
        "static constexpr int readers = 1 + (shares_a<P> ? columns - 1 : 0) + (shares_b<P> ? rows - 1 : 0);",
        "static constexpr int readers = rows + columns - 1;",
        "nobody can go on",
    ),
    "a workgroup leaves before the others": Mutant(
        "a cluster's loads",
        "pipeline.h",
        "  // Nobody leaves while others may still tell its barriers something.\n"
        "  if constexpr (cluster_of<P>::workgroups > 1) meet_cluster();\n",
        "",
    ),
    "sums are sent where stages are read": Mutant(
        "sums through a cluster",
        "split_tile.h",
        "  wait(at.vacated(), 0);\n",
        "",
        "stores over",
    ),
    "sums are added before they come": Mutant(
        "sums through a cluster",
        "collect.h",
        "  wait_in_cluster(collected, 0);\n",
        "",
        "reads byte",
    ),
    # partial.h
    "a flag is raised before the sums": Mutant(
        "sums through memory",
        "split_tile.h",
        "    send(p.partial_of(slot * size + rank), d, group);\n"
        "    signal(p.flag_of(slot * size + rank), group);\n",
        "    signal(p.flag_of(slot * size + rank), group);\n    meet_warpgroup(group);\n"
        "    send(p.partial_of(slot * size + rank), d, group);\n",
    ),
    "a flag is not waited for": Mutant(
        "sums through memory",
        "partial.h",
        "  await(flag, group);\n",
    ),
    "sharers do not meet": Mutant(
        "sums of all who share",
        "split_tile.h",
        "    meet_sharers(flag, P::sharers, group);\n",
    ),
    "sharers do not leave": Mutant(
        "sums of all who share",
        "split_tile.h",
        "    leave_sharers(flag, P::sharers, group);\n",
    ),
    "sums of the first turn are all": Mutant(
        "sums of more sharers than registers hold",
        "store.h",
        "before < P::sharers; before += parts",
        "before < parts; before += parts",
    ),
    "the second group is left out": Mutant(
        "sums of sharers with groups by two",
        "store.h",
        "if (at < all) store_sums",
        "if (at == first) store_sums",
    ),
    # launch_overlap.h
    "a product does not wait for its copies": Mutant(
        "copies first",
        "cuda/launch_overlap.h",
        "if constexpr (Order == launch_order::after_all) wait_for_earlier();",
    ),
    # shared.h, flag.h: work items
    "work items do not meet": Mutant(
        "f32",
        "cuda/shared.h",
        "IMBREX_INLINE void barrier() { __syncthreads(); }",
        "IMBREX_INLINE void barrier() {}",
    ),
    "the sums of another are not waited for": Mutant(
        "f32, shared tiles",
        "flag.h",
        "    while (!take_acquired(flags + i)) {\n    }\n",
    ),
    # streams.h
    "lines: barriers alias": Mutant(
        "lines",
        "addresses.h",
        "return memory + P::turn_offset + group * 8; }",
        "return memory + P::turn_offset - 8 + group * 8; }",
        "makes a barrier of",
    ),
    "lines: consumer and slot are swapped": Mutant(
        "lines",
        ".hpp",
        "first_line(int32_t slot, int32_t group)",
        "first_line(int32_t group, int32_t slot)",
    ),
    "lines: zeros without a fence": Mutant(
        "lines",
        "pipeline.h",
        "    written_for_engines();\n",
        "",
        "fence.proxy.async",
    ),
    "lines: a lane may miss its turn": Mutant(
        "lines",
        "streams.h",
        "      __syncwarp(); // else a lane",
        "      // a lane",
        "nobody can go on",
    ),
    "lines: the filter is not waited for": Mutant(
        "lines",
        "streams.h",
        "  wait(at.b_there(), 0);\n",
        "",
        "multiplies byte",
    ),
    "lines: one line released too early": Mutant("lines", "streams.h", "    wait_products<0>();\n", ""),
    # stay.h
    "a tile that stays is not waited for": Mutant(
        "a raster",
        "split_tile.h",
        "        wait(at.b_there(), kept.round);\n",
        "",
        "multiplies byte",
    ),
    # ring.h, epilogue_operands.h, lanes.h, product.h, the phases of store.h
    "the ring's rounds are not counted": Mutant(FLIGHT, "ring.h", "      round ^= 1;\n"),
    "a bias of other columns": Mutant(
        TWO,
        "epilogue_operands.h",
        "A::along_columns ? number / 4 : 0]);",
        "A::along_columns ? number / 8 : 0]);",
    ),
    "bytes of a row are not shifted": Mutant(
        "lanes that load", "cuda/shift.h", "(shift & 3) * 8", "(shift & 1) * 8"
    ),
    "the end of a row is its begin": Mutant(
        "lanes that load",
        "piece.h",
        "taken<P>(from, across, begin), behind",
        "taken<P>(from, across, 0), behind",
    ),
    "half a word before a row's words is left out": Mutant(
        "two results by lanes", "piece.h", "before * size)", "before * size & ~2)"
    ),
    "rows beyond a tile are loaded": Mutant(
        "lanes that load the rows of 26 warps in turns of four",
        "cuda/lanes.h",
        "turn * warpgroup_lanes + first < loads",
        "turn < turns",
    ),
    "a sum of another column": Mutant("f32", "product.h", "c[row * Pitch + column]", "c[row * Pitch + step]"),
    "a phase's sums for another's": Mutant(
        "phases", "store.h", "P::sums_of(phase + at % residues)", "P::sums_of(phase)"
    ),
    # consumers of columns; split_steps.h, planes.h
    "taps: a stage is read before it is full": Mutant(
        "taps as columns",
        "split_tile.h",
        "      wait(at.full(here.stage), here.round);\n",
        "",
        "multiplies byte",
    ),
    "taps: consumers store the same columns": Mutant(
        "taps as columns",
        "split_tile.h",
        "    if constexpr (P::splits_columns) own.column_tile = w.column_tile * P::consumers + warpgroup;\n",
    ),
    "taps: what no copy fills is not cleared": Mutant("taps as columns", "pipeline.h", "  clear_gaps(at);\n"),
    "diagonal: lanes of a warp do not meet": Mutant(
        "blocks of a diagonal",
        "split_steps.h",
        "    __syncwarp();\n",
        "",
        "copies over",
    ),
    "diagonal: consumers do not meet": Mutant(
        "blocks of a diagonal",
        "split_steps.h",
        "  meet_consumers<P>();\n  if (group > 0) return;",
        "  if (group > 0) return;",
    ),
    "planes: a stage is read before it is full": Mutant(
        "planes", "split_steps.h", "    wait(at.full(here.stage), here.round);\n", ""
    ),
    "planes: a neighbour's pixel": Mutant(
        "planes",
        "planes.h",
        "0x5432",
        "0x4321",
    ),
}
