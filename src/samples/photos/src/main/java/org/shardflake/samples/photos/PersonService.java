/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.shardflake.ShardKey;
import org.shardflake.router.Lookup;
import org.shardflake.router.LookupEntry;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.spring.ShardTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;

/** Signs people up and in. A person is in the shard of a uid, and is found by the e-mail address. */
@Service
public class PersonService {

    private final JdbcClient jdbc;
    private final ShardRouter router;
    private final ShardTemplate shards;
    private final Lookup emails;

    PersonService(JdbcClient jdbc, ShardRouter router, ShardTemplate shards) {
        this.jdbc = jdbc;
        this.router = router;
        this.shards = shards;
        this.emails = router.lookup("person.email");
    }

    /** Registers a person; throws {@link org.shardflake.router.LookupTakenException} if the address is taken, on any server. */
    public Person signUp(String email, String name, String country) {
        long uid = ThreadLocalRandom.current().nextLong();
        return shards.write(ShardKey.uid(uid), () -> {
            emails.claim(email, uid, uid);
            jdbc.sql("INSERT INTO person (uid, email, name, country) VALUES (?, ?, ?, ?)")
                    .params(uid, email, name, country)
                    .update();
            return person(uid);
        });
    }

    /** The person with an e-mail address, found by a query in the shard of the address and one in the person's shard. */
    public Optional<Person> find(String email) {
        return emails.find(email).map(LookupEntry::uid).map(uid -> shards.read(ShardKey.uid(uid), () -> person(uid)));
    }

    private Person person(long uid) {
        return jdbc.sql("""
                        SELECT uid, person.name, country.name AS country
                          FROM person JOIN reference.country ON country.code = person.country WHERE uid = ?""")
                .param(uid)
                .query((row, number) -> new Person(row.getLong("uid"), row.getString("name"), row.getString("country")))
                .single();
    }

    /** The countries, which are on every server. */
    public List<Country> countries() {
        return shards.read(
                ShardKey.shard(0),
                () -> jdbc.sql("SELECT code, name FROM reference.country ORDER BY name")
                        .query((row, number) -> new Country(row.getString("code"), row.getString("name")))
                        .list());
    }

    /** The totals of all shards. */
    public Map<String, Long> totals() {
        return Map.of("people", rows("person"), "photos", rows("photo"), "likes", rows("liked"));
    }

    private long rows(String table) {
        return router.count(ShardQuery.of("SELECT 1 FROM ${shard.schema}." + table, row -> true));
    }
}
