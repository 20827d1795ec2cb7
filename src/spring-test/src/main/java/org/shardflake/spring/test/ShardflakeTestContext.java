/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.spring.ShardflakeConnectionDetails;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestContextAnnotationUtils;

/** Connects the application of a {@link ShardflakeTest} to its installation. Equal ones share an application. */
record ShardflakeTestContext(ShardflakeTest wanted) implements ContextCustomizer {

    static @Nullable ShardflakeTest find(Class<?> testClass) {
        return TestContextAnnotationUtils.findMergedAnnotation(testClass, ShardflakeTest.class);
    }

    @Override
    public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
        String catalog = TestInstallation.catalog(wanted);
        ShardflakeConnectionDetails details = () -> catalog;
        context.getBeanFactory().registerSingleton("shardflakeTestConnectionDetails", details);
        // The catalog is for what reads the property itself, such as an operator's page. An application that is on its
        // way
        // to shards has shardflake.enabled=false in its own properties.
        TestPropertyValues.of("shardflake.catalog=" + catalog, "shardflake.enabled=true")
                .applyTo(context);
    }

    /** The factory that Spring finds in {@code spring.factories}. */
    static final class Factory implements ContextCustomizerFactory {
        @Override
        public @Nullable ContextCustomizer createContextCustomizer(
                Class<?> testClass, List<ContextConfigurationAttributes> configuration) {
            ShardflakeTest wanted = find(testClass);
            return wanted == null ? null : new ShardflakeTestContext(wanted);
        }
    }
}
