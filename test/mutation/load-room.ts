import { join } from 'node:path';
import { filesOf, ROOM_VARIABLE, type RoomName } from './rooms.ts';

// Code that a test loads first would count as that test's, and only that test would be asked whether it notices a changed constant.
for (const file of filesOf(process.env[ROOM_VARIABLE] as RoomName)) await import(join(import.meta.dirname, '../..', file));
