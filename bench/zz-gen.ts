import { backupSet, gardenerSet } from '/work/wt/lead/bench/datasets/store.js';
import { agedMember, packedMember } from '/work/wt/lead/bench/datasets/member.js';
const t = Date.now();
console.log(await backupSet(2861, 500_000)); console.log(Date.now()-t);
await gardenerSet(2861, 500_000); console.log('g', Date.now()-t);
await packedMember(2048); console.log('p', Date.now()-t);
await agedMember(2048); console.log('a', Date.now()-t);
await backupSet(2048, 1_000_000); console.log('c', Date.now()-t);
