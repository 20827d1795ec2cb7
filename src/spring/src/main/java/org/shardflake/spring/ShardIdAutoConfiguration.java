/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import org.shardflake.ShardflakeId;
import org.shardflake.jackson.ShardflakeJacksonModule;
import org.shardflake.jackson.ShardflakeModule;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.convert.converter.Converter;
import org.springframework.core.convert.support.DefaultConversionService;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Configures {@link ShardflakeId} in JSON, in paths and parameters of requests, and in rows. */
@AutoConfiguration(
        beforeName = {
            "org.springframework.boot.autoconfigure.jackson.JacksonAutoConfiguration",
            "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
            "org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration"
        },
        afterName = "org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration")
final class ShardIdAutoConfiguration {

    @Bean
    Converter<String, ShardflakeId> shardflakeIdFromText() {
        return new IdConverters.FromText();
    }

    @Bean
    Converter<ShardflakeId, String> shardflakeIdToText() {
        return new IdConverters.ToText();
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(tools.jackson.databind.JacksonModule.class)
    static class Jackson3 {

        @Bean
        @ConditionalOnMissingBean
        ShardflakeJacksonModule shardflakeJacksonModule() {
            return new ShardflakeJacksonModule();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(com.fasterxml.jackson.databind.Module.class)
    static class Jackson2 {

        @Bean
        @ConditionalOnMissingBean
        ShardflakeModule shardflakeModule() {
            return new ShardflakeModule();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.web.servlet.DispatcherServlet")
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    static class BadRequests {

        /** The advice that comes before Spring Boot's, which has order 0 and answers without the reason. */
        @Bean
        @Order(-1)
        @ConditionalOnProperty(name = "spring.mvc.problemdetails.enabled", havingValue = "true")
        NotAnIdAdvice shardflakeProblemDetails() {
            return new NotAnIdAdvice();
        }

        /** The advice that comes after the application's own. */
        @Bean
        @Order(Ordered.LOWEST_PRECEDENCE)
        @ConditionalOnMissingBean
        NotAnIdAdvice shardflakeNotAnIdAdvice() {
            return new NotAnIdAdvice();
        }
    }

    /** Extends Spring Boot's configuration so that {@code query(Photo.class)} also fills components that are ids. Needs Spring 7. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration")
    @ConditionalOnSingleCandidate(NamedParameterJdbcTemplate.class)
    static class Rows {

        @Bean
        @ConditionalOnMissingBean
        JdbcClient jdbcClient(NamedParameterJdbcTemplate jdbc) {
            DefaultConversionService conversions = new DefaultConversionService();
            conversions.addConverter(new IdConverters.FromNumber());
            return JdbcClient.create(jdbc, conversions);
        }
    }
}
