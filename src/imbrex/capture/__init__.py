"""Capture: from a model to the problems that it computes, with how often.

tally  what was found, and its text
layer  convolutions and products by the shapes of their arrays
aten   ops that torch's dispatcher sees while a function runs
graph  nodes of an ONNX file
"""
