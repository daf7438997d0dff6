// Plays scenes of springs with three-vrm: reads them from stdin as JSON, writes the tails to stdout.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(`${process.argv[2]}/`);
const THREE = require("three");
const VRM = require("@pixiv/three-vrm-springbone");

const vector = (v) => new THREE.Vector3(...v);

function play(scene) {
  const world = new THREE.Object3D();
  const root = new THREE.Object3D();
  world.add(root);
  root.matrixAutoUpdate = false;
  root.matrix.set(...scene.frames[0]);
  const bones = [];
  let parent = root;
  for (const place of [[0, 0, 0], ...scene.lengths.map((size) => [0, size, 0])]) {
    const bone = new THREE.Object3D();
    bone.position.set(...place);
    parent.add(bone);
    bones.push(bone);
    parent = bone;
  }
  const colliders = scene.colliders.map(({ start, end, radius }) => {
    const options = { offset: vector(start), radius, tail: vector(end ?? start) };
    const shape = end
      ? new VRM.VRMSpringBoneColliderShapeCapsule(options)
      : new VRM.VRMSpringBoneColliderShapeSphere(options);
    const collider = new VRM.VRMSpringBoneCollider(shape);
    world.add(collider);
    return collider;
  });
  world.updateMatrixWorld(true);
  const manager = new VRM.VRMSpringBoneManager();
  const settings = {
    stiffness: scene.stiffness,
    dragForce: scene.drag,
    gravityPower: 1,
    gravityDir: vector(scene.gravity),
    hitRadius: scene.radius,
  };
  const joints = scene.lengths.map((_, i) => {
    const joint = new VRM.VRMSpringBoneJoint(bones[i], bones[i + 1], settings, [{ colliders }]);
    if (scene.center) joint.center = root;
    manager.addJoint(joint);
    return joint;
  });
  manager.setInitState();
  const shown = [];
  for (const frame of scene.frames.slice(1)) {
    root.matrix.set(...frame);
    root.matrixWorldNeedsUpdate = true;
    manager.update(scene.dt);
    shown.push(
      joints.map((joint) => {
        const tail = joint._currentTail.clone();
        return (scene.center ? tail.applyMatrix4(root.matrixWorld) : tail).toArray();
      }),
    );
  }
  return shown;
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(play)));
