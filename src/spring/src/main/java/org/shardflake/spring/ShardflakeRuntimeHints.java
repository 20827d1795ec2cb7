/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;
import org.springframework.util.ClassUtils;

/** Registers proxies and reflective calls for native images. Spring finds the beans by itself. */
final class ShardflakeRuntimeHints implements RuntimeHintsRegistrar {

    private static final String LISTENER_OF_HIBERNATE_6 = "org.hibernate.event.spi.SaveOrUpdateEventListener";

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.proxies().registerJdkProxy(Connection.class);
        hints.proxies().registerJdkProxy(DatabaseMetaData.class);
        if (ClassUtils.isPresent(BootThreeBean.HEALTH_INDICATOR, loader)) {
            hints.proxies().registerJdkProxy(TypeReference.of(BootThreeBean.HEALTH_INDICATOR));
            call(hints, BootThreeBean.HEALTH);
            call(hints, BootThreeBean.HEALTH + "$Builder");
        }
        if (ClassUtils.isPresent(LISTENER_OF_HIBERNATE_6, loader)) {
            hints.proxies().registerJdkProxy(TypeReference.of(LISTENER_OF_HIBERNATE_6));
            call(hints, "org.hibernate.event.spi.SaveOrUpdateEvent");
        }
        // Made by Hibernate. Names, since the classes may lack their supertypes.
        make(hints, loader, "org.hibernate.generator.Generator", "org.shardflake.spring.ShardflakeIdGenerator");
        make(hints, loader, "jakarta.persistence.AttributeConverter", "org.shardflake.jpa.ShardflakeIdConverter");
    }

    private static void call(RuntimeHints hints, String type) {
        hints.reflection().registerType(TypeReference.of(type), MemberCategory.INVOKE_PUBLIC_METHODS);
    }

    private static void make(RuntimeHints hints, @Nullable ClassLoader loader, String supertype, String type) {
        if (ClassUtils.isPresent(supertype, loader)) {
            hints.reflection().registerType(TypeReference.of(type), MemberCategory.INVOKE_DECLARED_CONSTRUCTORS);
        }
    }
}
