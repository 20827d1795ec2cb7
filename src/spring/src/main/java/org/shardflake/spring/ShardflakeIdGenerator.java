/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.hibernate.MappingException;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.generator.AnnotationBasedGenerator;
import org.hibernate.generator.BeforeExecutionGenerator;
import org.hibernate.generator.EventType;
import org.hibernate.generator.GeneratorCreationContext;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.server.SqlText;

/** Draws the ids of {@link GeneratedShardflakeId}. Thread-safe. */
@SuppressWarnings("NullAway.Init") // Hibernate initializes it after it made it.
public class ShardflakeIdGenerator
        implements BeforeExecutionGenerator, AnnotationBasedGenerator<GeneratedShardflakeId> {

    @Serial
    private static final long serialVersionUID = 1L;

    private static final String DRAW = "SELECT shardflake.next_ids(?, ?::regclass, ?)";
    /** Reads the number of shards if the sequence's column holds keys instead of ids: see Sharding.key. */
    private static final String KEYS = """
            SELECT pg_catalog.max(pg_catalog.substring(pg_catalog.pg_get_expr(d.adbin, d.adrelid), 'id_to_key\\(.*, ([0-9]+)\\)$')::pg_catalog.int4)
              FROM pg_catalog.pg_depend used JOIN pg_catalog.pg_attrdef d ON d.oid OPERATOR(pg_catalog.=) used.objid
             WHERE used.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass
               AND used.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
               AND used.refobjid OPERATOR(pg_catalog.=) ?::pg_catalog.regclass
            """;

    private static final int MOST = 1000;
    /** The factor by which blocks grow: an import of 1,000 rows draws three times, and an unused id costs a microsecond. */
    private static final int GROWTH = 4;

    /**
     * The time after which a block is discarded: sequences follow the clock, so that after a failover that lost the latest ids, a server gives
     * none that are in use here.
     */
    private static final long FRESH_NANOS = Duration.ofSeconds(1).toNanos();

    private static final long QUICK_NANOS = Duration.ofMillis(200).toNanos();

    private String sequence;
    private int size;
    /** The number of shards if ids are keys, 0 if they are not, and null until it is known. */
    private transient volatile @Nullable Integer shardsOfKeys;
    /** The rest of each shard's latest block, by schema. */
    private final transient Map<String, Block> blocks = new ConcurrentHashMap<>();

    private static final class Block {

        private final long[] ids;
        private final long drawn = System.nanoTime();
        private final AtomicInteger next = new AtomicInteger();

        Block(long[] ids) {
            this.ids = ids;
        }

        /** The number of ids to draw next: more if the last block was used up quickly, as by an import. */
        int nextSize(int least) {
            boolean isQuick = next.get() >= ids.length && System.nanoTime() - drawn < QUICK_NANOS;
            return isQuick ? Math.min(GROWTH * ids.length, MOST) : least;
        }

        /** The next id, or null if there is none. */
        @Nullable
        Long take() {
            if (System.nanoTime() - drawn > FRESH_NANOS) {
                return null;
            }
            int taken = next.getAndIncrement();
            return taken < ids.length ? ids[taken] : null;
        }
    }

    @Override
    @SuppressWarnings("removal") // Hibernate 6.6 has only this; that of 7 calls it.
    public void initialize(GeneratedShardflakeId annotation, Member member, GeneratorCreationContext context) {
        Class<?> type = member instanceof Field field ? field.getType() : ((Method) member).getReturnType();
        if (type != long.class && type != Long.class) {
            throw new MappingException("@GeneratedShardflakeId on %s.%s of type %s, allowed: long or Long"
                    .formatted(member.getDeclaringClass().getSimpleName(), member.getName(), type.getName()));
        }
        if (annotation.block() < 1 || annotation.block() > MOST) {
            throw new MappingException("@GeneratedShardflakeId(block = %s) on %s.%s, allowed: 1..%s"
                    .formatted(annotation.block(), member.getDeclaringClass().getSimpleName(), member.getName(), MOST));
        }
        size = annotation.block();
        sequence = annotation.sequence().isEmpty()
                ? "%s_%s_seq"
                        .formatted(
                                context.getPersistentClass().getTable().getName(),
                                context.getProperty().getColumns().get(0).getName())
                : annotation.sequence();
    }

    @Override
    public EnumSet<EventType> getEventTypes() {
        return EnumSet.of(EventType.INSERT);
    }

    @Override
    public Object generate(
            SharedSessionContractImplementor session,
            Object owner,
            @Nullable Object currentValue,
            EventType eventType) {
        String schema = String.valueOf(session.getTenantIdentifierValue());
        Block block = blocks.get(schema);
        Long id = block == null ? null : block.take();
        while (id == null) {
            int count = block == null ? size : block.nextSize(size);
            block = new Block(session.doReturningWork(connection -> draw(connection, schema, count)));
            id = block.take();
            blocks.put(schema, block);
        }
        return id;
    }

    private long[] draw(Connection connection, String schema, int count) throws SQLException {
        try (PreparedStatement draw = connection.prepareStatement(DRAW)) {
            String its = schema + '.' + SqlText.name(sequence);
            int shards = shardsOfKeys(connection, its);
            draw.setInt(1, HibernateShards.shard(schema));
            draw.setString(2, its);
            draw.setInt(3, count);
            long[] ids = new long[count];
            try (ResultSet row = draw.executeQuery()) {
                for (int i = 0; i < count && row.next(); i++) {
                    ids[i] = shards == 0 ? row.getLong(1) : new Sharding(shards).key(row.getLong(1));
                }
            }
            return ids;
        }
    }

    private int shardsOfKeys(Connection connection, String its) throws SQLException {
        Integer known = shardsOfKeys;
        if (known == null) {
            try (PreparedStatement look = connection.prepareStatement(KEYS)) {
                look.setString(1, its);
                try (ResultSet row = look.executeQuery()) {
                    row.next();
                    known = row.getInt(1); // 0 for null
                }
            }
            shardsOfKeys = known;
        }
        return known;
    }
}
