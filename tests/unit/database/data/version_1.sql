BEGIN TRANSACTION;
CREATE TABLE device (
  id integer primary key,
  name text not null, hardware text not null, conditions text not null,
  unique (name, hardware, conditions)
);
INSERT INTO "device" VALUES(1,'A CPU','isa=avx2 l2=1048576','usable_threads=2');
CREATE TABLE trial (
  id integer primary key,
  unit integer not null references unit on delete cascade,
  configuration text not null,
  status text not null check (
    status in ('ok', 'wrong', 'failed', 'timeout', 'crashed', 'spilled', 'refused')),
  median_ns real, spread_ns real, samples integer not null, source text not null, compiler text not null,
  note text not null, session text not null, at text not null, is_cold integer not null,
  version text not null,
  unique (unit, configuration, session)
);
INSERT INTO "trial" VALUES(1,1,'v2:direct+product=a','ok',10.0,0.5,5,'d','clang','','s1','2026-11-23T03:46:37.698043+00:00',1,'0.1.0');
INSERT INTO "trial" VALUES(2,1,'v2:direct+product=pick','ok',20.0,0.5,5,'d','clang','','s1','2026-11-23T03:46:37.727015+00:00',1,'0.1.0');
INSERT INTO "trial" VALUES(3,1,'v2:direct+product=b','ok',5.0,0.5,5,'d','clang','','s2','2026-11-23T03:46:37.739961+00:00',0,'0.1.0');
CREATE TABLE unit (
  id integer primary key,
  problem text not null, target text not null, threads integer not null,
  device integer not null references device on delete cascade,
  kind text not null,
  unique (problem, target, threads, device)
);
INSERT INTO "unit" VALUES(1,'gemm -m 8 -n 8 -k 8','cpu',1,1,'gemm -m -n -k');
CREATE TABLE verdict (
  id integer primary key,
  unit integer not null references unit on delete cascade,
  configuration text not null, pick text not null,
  gain real not null, low real not null, high real not null, pairs integer not null,
  session text not null, at text not null,
  unique (unit, session)
);
INSERT INTO "verdict" VALUES(1,1,'v2:direct+product=a','v2:direct+product=pick',2.0,1.9,2.1,20,'s1','2026-11-23T03:46:37.732439+00:00');
INSERT INTO "verdict" VALUES(2,1,'v2:direct+product=b','v2:direct+product=pick',4.0,3.9,4.1,20,'s2','2026-11-23T03:46:37.747948+00:00');
CREATE INDEX unit_kind on unit (target, kind);
CREATE VIEW tuned as
  select unit.*, device.name as name, device.hardware as hardware, device.conditions as conditions
  from unit join device on device.id = unit.device;
CREATE VIEW winner as
  select one.*, trial.median_ns, coalesce(trial.source, '') as source,
    coalesce(trial.compiler, '') as compiler, coalesce(trial.version, '') as version
  from (
    select tuned.problem, tuned.target, tuned.threads, tuned.name, tuned.hardware, verdict.at,
      verdict.session,
      case when verdict.low > 1 then verdict.configuration else verdict.pick end as configuration,
      case when verdict.low > 1 then verdict.gain else 1.0 end as gain
    from verdict join tuned on tuned.id = verdict.unit
    where verdict.id = (
      select other.id from tuned as same join verdict as other on other.unit = same.id
      where same.problem = tuned.problem and same.target = tuned.target and same.threads = tuned.threads
        and same.name = tuned.name and same.hardware = tuned.hardware
      order by other.at desc, other.id desc limit 1)
  ) as one
  left join trial on trial.id = (
    select tried.id from tuned as same join trial as tried on tried.unit = same.id
    where same.problem = one.problem and same.target = one.target and same.threads = one.threads
      and same.name = one.name and same.hardware = one.hardware and tried.configuration = one.configuration
    order by tried.at desc, tried.id desc limit 1)
  where coalesce(trial.status, 'ok') = 'ok';
PRAGMA application_id=1231905400;
PRAGMA user_version=1;
COMMIT;
