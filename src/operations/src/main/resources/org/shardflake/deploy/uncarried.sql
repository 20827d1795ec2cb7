-- What a move can neither compare nor carry.
other AS (
    SELECT schema, classid, objid FROM member
     WHERE classid NOT IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass, 'pg_statistic_ext'::regclass, 'pg_collation'::regclass,
                           'pg_default_acl'::regclass, 'pg_publication_namespace'::regclass)
     UNION ALL
    SELECT m.schema, m.classid, m.objid FROM member m JOIN pg_type t ON t.oid = m.objid
     WHERE m.classid = 'pg_type'::regclass AND t.typtype NOT IN ('c', 'd', 'e', 'm', 'r')
     UNION ALL
    SELECT m.schema, 'pg_cast'::regclass, k.oid FROM member m JOIN pg_cast k ON m.objid IN (k.castsource, k.casttarget)
     WHERE m.classid = 'pg_type'::regclass AND k.oid >= 16384
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_cast'::regclass AND d.objid = k.oid AND d.deptype = 'i') -- which comes with its range
     UNION ALL
    SELECT m.schema, m.classid, m.objid FROM member m JOIN pg_depend d ON d.classid = m.classid AND d.objid = m.objid AND d.deptype = 'e')
SELECT DISTINCT pg_describe_object(classid, objid, 0) || CASE classid WHEN 'pg_extension'::regclass THEN ' in schema ' || n.name ELSE '' END
  FROM other JOIN shard n ON n.oid = other.schema
