import { describe, expect, it } from 'vitest';
import { applyChange, listChanges } from '../mutation/sql-changes.ts';

const changed = (sql: string) => listChanges(sql).map((change) => applyChange(sql, change));

describe('changes of SQL', () => {
  it.each([
    [
      'drops each condition',
      'SELECT a FROM t WHERE b = :b AND (c OR d) ORDER BY a DESC',
      [
        'SELECT a FROM t WHERE TRUE AND (c OR d) ORDER BY a DESC',
        'SELECT a FROM t WHERE b = :b AND TRUE ORDER BY a DESC',
        'SELECT a FROM t WHERE b = :b AND (c OR FALSE) ORDER BY a DESC',
        'SELECT a FROM t WHERE b = :b AND (c OR d) ORDER BY a ',
      ],
    ],
    [
      'leaves a BETWEEN whole',
      'SELECT a FROM t WHERE b BETWEEN :x AND :y AND c',
      ['SELECT a FROM t WHERE TRUE AND c', 'SELECT a FROM t WHERE b BETWEEN :x AND :y AND TRUE'],
    ],
    [
      'takes a CASE as one condition',
      'SELECT a FROM t WHERE CASE WHEN b THEN c ELSE d END AND e',
      ['SELECT a FROM t WHERE TRUE AND e', 'SELECT a FROM t WHERE CASE WHEN b THEN c ELSE d END AND TRUE'],
    ],
    ['moves bounds', 'SELECT a < b, c >= d', ['SELECT a <= b, c >= d', 'SELECT a < b, c > d']],
    ['moves numbers, but not those that nobody reads', 'SELECT 1 LIMIT 20', ['SELECT 1 LIMIT 21']],
    ['turns orders around', 'SELECT a ORDER BY a, b DESC', ['SELECT a ORDER BY a DESC, b DESC', 'SELECT a ORDER BY a, b ']],
    [
      'exchanges joins',
      'SELECT a FROM b JOIN c USING (d) LEFT JOIN e USING (d)',
      ['SELECT a FROM b LEFT JOIN c USING (d) LEFT JOIN e USING (d)', 'SELECT a FROM b JOIN c USING (d) JOIN e USING (d)'],
    ],
    [
      'takes the first of several',
      'SELECT coalesce(f(a, b), c), max(d)',
      ['SELECT (f(a, b)), max(d)', 'SELECT coalesce(f(a, b), c), min(d)'],
    ],
    [
      'turns what is missing around',
      'SELECT a IS NULL, b IS NOT NULL, NOT EXISTS (SELECT c)',
      [
        'SELECT a IS NOT NULL, b IS NOT NULL, NOT EXISTS (SELECT c)',
        'SELECT a IS NULL, b IS  NULL, NOT EXISTS (SELECT c)',
        'SELECT a IS NULL, b IS NOT NULL,  EXISTS (SELECT c)',
      ],
    ],
    ['leaves texts, comments and conflicts alone', "INSERT INTO t SELECT '1 < 2' ON CONFLICT DO NOTHING -- WHERE a = 1", []],
  ])('%s', (_, sql, expected) => {
    expect(changed(sql)).toEqual(expected);
  });
});
