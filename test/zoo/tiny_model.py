"""
Writes a model file for llama.cpp of two megabytes. It has no knowledge: each token of its vocabulary has one successor, so its answers
follow from the last token of the prompt, which its chat template chooses. It says something, calls a tool (again, if the result says
AGAIN), reports that it is done, or writes until it is stopped.
"""

import sys

import numpy
from gguf import GGUFWriter, TokenType

ROLE, END = "<|im_start|>", "<|im_end|>"
ANSWERS = {
    "<|say|>": ["Hello", " from", " a", " tiny", " model", "."],
    "<|call|>": [
        *["<tool_call>", '\n{"name": "', "look", '", "arguments": {"', "city", '": "', "Oslo", '"}}\n', "</tool_call>"],
    ],
    "<|done|>": ["It", " is", " cold", "!"],
    "<|forever|>": [" and"],
}
TEMPLATE = """
{%- if tools -%}
<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}{% endfor %}<|im_end|>
{% endif -%}
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content if message.content is string else '' }}
{%- for call in message.tool_calls or [] -%}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor -%}
<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% if 'forever' in (messages | last).content -%}<|forever|>
{%- elif (messages | last).role == 'tool' and 'AGAIN' not in (messages | last).content -%}<|done|>
{%- elif tools -%}<|call|>
{%- else -%}<|say|>
{%- endif -%}
{%- endif -%}
"""

pieces = [piece.replace(" ", "\u2581") for answer in ANSWERS.values() for piece in answer]
vocabulary = [
    ("<unk>", TokenType.UNKNOWN),
    *((mark, TokenType.CONTROL) for mark in [ROLE, END, *ANSWERS]),
    *((f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(256)),
    *((piece, TokenType.NORMAL) for piece in pieces),
]
# The width of a matrix is a multiple of 32.
vocabulary += [(f"<unused{n}>", TokenType.UNUSED) for n in range(-len(vocabulary) % 32)]
tokens = [token for token, _ in vocabulary]
size = len(tokens)

# A token is one place of a vector, and the row of its successor has a weight there. Whatever has no other is followed by the end.
successors = numpy.zeros((size, size), dtype=numpy.float32)
successors[tokens.index(END)] = 1
for mark, answer in ANSWERS.items():
    chain = [tokens.index(token.replace(" ", "\u2581")) for token in [mark, *answer]]
    chain.append(chain[-1] if mark == "<|forever|>" else tokens.index(END))
    for before, after in zip(chain, chain[1:]):
        successors[:, before] = 0
        successors[after, before] = 20

writer = GGUFWriter(sys.argv[1], "llama")
writer.add_name("tiny")
writer.add_context_length(65_536)
writer.add_embedding_length(size)
writer.add_vocab_size(size)
writer.add_block_count(1)
writer.add_feed_forward_length(32)
writer.add_head_count(1)
writer.add_head_count_kv(1)
writer.add_rope_dimension_count(size)
writer.add_layer_norm_rms_eps(1e-6)
writer.add_tokenizer_model("llama")
writer.add_token_list(tokens)
writer.add_token_scores([0.0] * size)
writer.add_token_types([kind for _, kind in vocabulary])
writer.add_bos_token_id(tokens.index(ROLE))
writer.add_eos_token_id(tokens.index(END))
writer.add_unk_token_id(0)
writer.add_add_bos_token(False)
writer.add_add_space_prefix(False)
writer.add_chat_template(TEMPLATE)

# Attention and feed-forward layer add nothing.
matrices = {
    "token_embd": numpy.eye(size, dtype=numpy.float32),
    "output": successors,
    **{f"blk.0.{name}": numpy.zeros((size, size), dtype=numpy.float32) for name in ["attn_q", "attn_k", "attn_v", "attn_output"]},
    **{f"blk.0.{name}": numpy.zeros((32, size), dtype=numpy.float32) for name in ["ffn_gate", "ffn_up"]},
    "blk.0.ffn_down": numpy.zeros((size, 32), dtype=numpy.float32),
    **{name: numpy.ones(size, dtype=numpy.float32) for name in ["output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"]},
}
for name, values in matrices.items():
    writer.add_tensor(f"{name}.weight", values)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
