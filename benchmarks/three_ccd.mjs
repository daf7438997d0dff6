// Solve chains with joint limits by CCDIKSolver of three.js, without a window.
//
// node three_ccd.mjs FOLDER <task.json >answers.json
//
// FOLDER is where npm has put `three`. The task has `iterations`, `size` (of a bone) and `cases`,
// each with a `target` and, root first, `bones`: `rest` (a quaternion, w first, relative to the
// parent), `least` and `most` (Euler angles, by axis) and their `order`.
// An answer has the `rotations`, relative to rest, and the `seconds` that the solver took.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const three = join(process.argv[2], 'node_modules', 'three');
const load = (...path) => import(pathToFileURL(join(three, ...path)));
const { Bone, Quaternion, Skeleton, Vector3 } = await load('build', 'three.module.js');
const { CCDIKSolver } = await load('examples', 'jsm', 'animation', 'CCDIKSolver.js');

// A bone of three.js has no rest of its own: one that stands still above each holds it, which the
// solver warns of, since it looks for the bone itself as the parent.
console.warn = () => {};

function build({ bones, target }, size) {
  const turning = [];
  const root = new Bone();
  let end = root;
  for (const { rest: [w, x, y, z], order } of bones) {
    const rest = new Bone();
    rest.quaternion.set(x, y, z, w);
    if (end !== root) rest.position.y = size;
    const bone = new Bone();
    bone.rotation.order = order;
    end.add(rest.add(bone));
    turning.push(bone);
    end = bone;
  }
  const tip = new Bone();
  tip.position.y = size;
  end.add(tip);
  const goal = new Bone();
  goal.position.set(...target);
  root.add(goal);
  root.updateMatrixWorld(true);
  return [...turning, tip, goal];
}

function solve(chain, { iterations, size }) {
  const bones = build(chain, size);
  const count = chain.bones.length;
  const links = chain.bones.map(({ least, most }, index) => ({
    index,
    rotationMin: new Vector3(...least),
    rotationMax: new Vector3(...most),
  }));
  const ik = { effector: count, target: count + 1, iteration: iterations, links: links.reverse() };
  const solver = new CCDIKSolver({ skeleton: new Skeleton(bones) }, [ik]);
  const begin = performance.now();
  solver.update();
  const seconds = 1e-3 * (performance.now() - begin);
  const rotations = bones.slice(0, count).map(({ quaternion: q }) => [q.w, q.x, q.y, q.z]);
  return { rotations, seconds };
}

const task = JSON.parse(readFileSync(0, 'utf8'));
// Once for the just-in-time compiler, and once that counts.
task.cases.forEach((chain) => solve(chain, task));
console.log(JSON.stringify(task.cases.map((chain) => solve(chain, task))));
