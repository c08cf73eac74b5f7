import { parseTodos, toProgress } from '../../domain/progress.ts';
import type { ToolCall, ToolOutcome } from '../source.ts';
import type { Builtin } from './tool.ts';

export const todoListTool: Builtin = {
  spec: {
    name: 'manage_todo_list',
    description: 'Keeps the to-do list of this task. Send the whole list each time; exactly one item should be in-progress.',
    effect: 'idempotent',
    brief: true,
    parameters: {
      type: 'object',
      properties: {
        todoList: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              id: { type: 'integer' },
              title: { type: 'string' },
              status: { type: 'string', enum: ['not-started', 'in-progress', 'done', 'completed'] },
            },
            required: ['id', 'title', 'status'],
          },
        },
      },
      required: ['todoList'],
    },
  },
  works_on: 'nothing',
  at_vendor: false,
  create: () => manageTodoList,
};

async function manageTodoList({ arguments: { todoList } }: ToolCall): Promise<ToolOutcome> {
  const todos = parseTodos(todoList);
  if (!todos) {
    return {
      content: 'todoList must be an array of {id, title, status}; status is one of not-started, in-progress, done',
      failed: true,
    };
  }
  return { content: `Saved ${todos.length} items, ${toProgress(todos).percent_complete} % done.`, failed: false, todos };
}
