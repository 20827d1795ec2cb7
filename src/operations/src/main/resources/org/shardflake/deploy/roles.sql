-- Roles that own something or have privileges; of those that PostgreSQL itself made it keeps no dependency.
SELECT DISTINCT role::regrole::text
  FROM (SELECT owner FROM thing
         UNION ALL
        SELECT s.refobjid FROM thing t
          JOIN pg_shdepend s ON s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND s.classid = t.classid AND s.objid = t.objid
         WHERE s.refclassid = 'pg_authid'::regclass
         UNION ALL
        SELECT unnest(ARRAY[d.defaclrole, e.grantee]) FROM shard n JOIN pg_default_acl d ON d.defaclnamespace = n.oid, aclexplode(d.defaclacl) e) r (role)
 WHERE role <> 0
