"""Configurations: everything that may be chosen about a kernel, as one value, before any pass runs.

request                     what to build, for which machine, and what was said of its configuration
algorithm/, products        what is copied, or seen in another way, and the products that come of it
context, access             what a tuning may know of a product: its sizes, and how operands lie in memory
kinds                       a row for each kind of tuning; its plan, rules, space and model are a folder
                            each: general/, xdlops/, warpgroup/, halo/, cpu/
tuning, tiles, strips       values and texts: of a tuning, of a schedule of tiles, of strips of lanes
choose, tuned_product       the tuning of one product; its schedule by schedule_choice and tile_order
configuration, configured   the value and its text; the one that the models choose for a request
candidates, modelled        all legal ones, and what the models say of each
launch_hints                what each launch is told beside its tuning: threads, waves
fitting, proposal           does a given one serve; what of another problem's can be kept
"""
