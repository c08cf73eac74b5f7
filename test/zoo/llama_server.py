"""Runs llama.cpp's own HTTP server, from the bindings of PyPI, until its input ends: the model file, the port, the context size."""

import sys

from xllamacpp import CommonParams, Server

_, model, port, context = sys.argv
params = CommonParams()
params.model.path = model
params.model_alias = {"tiny"}
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = int(context)
params.n_parallel = 1
# Threads that wait for each other would take the processors from the tests.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.sampling.seed = 1
params.warmup = False
server = Server(params)
print("serves", flush=True)
sys.stdin.read()
