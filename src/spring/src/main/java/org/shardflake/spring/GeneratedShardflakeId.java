/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.hibernate.annotations.IdGeneratorType;

/**
 * An entity's id, of type {@code long} or {@code Long}, drawn from the id sequence of its table before the insert. So
 * Hibernate can send inserts in batches, unlike with {@code GenerationType.IDENTITY}.
 *
 * <pre>{@code
 * @Id
 * @GeneratedShardflakeId
 * private Long id;
 * }</pre>
 *
 * <p>Ids are drawn in blocks in the shard of the session, and what is left of a block after a second is not used. So
 * they never repeat, and the time in an id is at most a second before {@code persist}, which draws it, but ids of one table do not always
 * increase in the order of inserts.
 */
@Documented
@IdGeneratorType(ShardflakeIdGenerator.class)
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.METHOD})
public @interface GeneratedShardflakeId {

    /** The id sequence, in the shard's schema; by default the column's own, such as {@code photo_id_seq}. */
    String sequence() default "";

    /** The number of ids to draw in one round trip: 1..1000. When they are used up quickly, more are drawn, up to 1000. */
    int block() default 50;
}
