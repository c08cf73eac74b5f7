import { decideCommand } from '../remote/decide.ts';

export default decideCommand('deny');
